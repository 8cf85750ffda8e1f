package detect

// automaton finds all of its keywords in one pass over a text (Aho and Corasick), ASCII letters in either case. It is a
// full table, so that each byte costs one look-up; bytes that no keyword has share a column.
type automaton struct {
	class [256]uint32
	next  []uint32 // by state + class; a state is its row's offset, with the top bit set where keywords end
	width uint32
	ends  [][]int32 // by row: the keywords that end there
}

const endsHere = 1 << 31

// newAutomaton makes the automaton of keywords, which are lower-case and not empty.
func newAutomaton(keywords []string) *automaton {
	a := &automaton{width: 1}
	for _, k := range keywords {
		for i := range len(k) {
			if a.class[k[i]] == 0 {
				a.class[k[i]] = a.width
				a.width++
			}
		}
	}
	for c := 'a'; c <= 'z'; c++ {
		a.class[c-'a'+'A'] = a.class[c]
	}
	a.row()
	for id, k := range keywords {
		state := uint32(0)
		for i := range len(k) {
			at := state*a.width + a.class[k[i]]
			if a.next[at] == 0 {
				a.next[at] = a.row()
			}
			state = a.next[at]
		}
		a.ends[state] = append(a.ends[state], int32(id))
	}
	a.complete()
	return a
}

// row adds a state without transitions.
func (a *automaton) row() uint32 {
	a.next = append(a.next, make([]uint32, a.width)...)
	a.ends = append(a.ends, nil)
	return uint32(len(a.ends) - 1)
}

// complete fills in where a text goes on when it leaves a keyword, breadth first, and turns states into offsets.
func (a *automaton) complete() {
	fail := make([]uint32, len(a.ends))
	queue := []uint32{0}
	for len(queue) > 0 {
		state := queue[0]
		queue = queue[1:]
		for c := range a.width {
			at := state*a.width + c
			back := a.next[fail[state]*a.width+c]
			switch to := a.next[at]; {
			case to == 0:
				if state != 0 {
					a.next[at] = back
				}
			default:
				if state != 0 {
					fail[to] = back
				}
				a.ends[to] = append(a.ends[to], a.ends[fail[to]]...)
				queue = append(queue, to)
			}
		}
	}
	for i, state := range a.next {
		a.next[i] = state * a.width
		if len(a.ends[state]) > 0 {
			a.next[i] |= endsHere
		}
	}
}

// each calls found with every keyword's number and where it ends, in the order of their ends.
func (a *automaton) each(text string, found func(keyword, end int)) {
	state := uint32(0)
	for i := range len(text) {
		state = a.next[state+a.class[text[i]]]
		if state&endsHere != 0 {
			state &^= endsHere
			for _, k := range a.ends[state/a.width] {
				found(int(k), i+1)
			}
		}
	}
}

// has tells whether any keyword is in the text.
func (a *automaton) has(text string) bool {
	state := uint32(0)
	for i := range len(text) {
		state = a.next[state+a.class[text[i]]]
		if state&endsHere != 0 {
			return true
		}
	}
	return false
}
