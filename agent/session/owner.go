package session

import (
	"fmt"
	"os"
)

// owner identifies a process that holds leases.
type owner struct {
	name    string // for people
	place   string // where pid means something: one start of one machine, one process namespace; empty when not known
	pid     int
	started int64 // start of the process as the system counts it; 0 when not known
}

// thisProcess is the owner of the leases taken here. program is what people call it.
func thisProcess(program string) owner {
	where := "this computer"
	if name, err := os.Hostname(); err == nil && name != "" {
		where = name
	}
	pid := os.Getpid()
	started, _ := processStart(pid)
	return owner{
		name:    fmt.Sprintf("%s, process %d on %s", program, pid, where),
		place:   processPlace(),
		pid:     pid,
		started: started,
	}
}

// knownDead tells whether o's process is certainly gone, as seen from the process self. Anything less is false.
func (o owner) knownDead(self owner) bool {
	if o.place == "" || o.place != self.place || o.pid <= 0 {
		return false
	}
	started, state := processStart(o.pid)
	switch state {
	case processGone:
		return true
	case processAlive: // another process may have the number by now
		return o.started != 0 && started != 0 && o.started != started
	}
	return false
}

// processState is what is known of a process.
type processState int

const (
	processUnknown processState = iota
	processAlive
	processGone
)
