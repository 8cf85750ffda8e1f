package process

import (
	"bytes"
	"os"
	"strconv"
)

// allEnded reports whether every process of the group id is a zombie.
func allEnded(id int) bool {
	procs, err := os.ReadDir("/proc")
	if err != nil {
		return false
	}
	group := []byte(strconv.Itoa(id))
	for _, p := range procs {
		if _, err := strconv.Atoi(p.Name()); err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + p.Name() + "/stat")
		if err != nil {
			continue // it has gone meanwhile
		}
		// pid (name) state parent group …; the name may hold anything.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) > 2 && bytes.Equal(fields[2], group) && fields[0][0] != 'Z' && fields[0][0] != 'X' {
			return false
		}
	}
	return true
}
