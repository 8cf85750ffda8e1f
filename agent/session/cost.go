package session

// Cost is what requests have cost.
type Cost struct {
	USD float64 `json:"usd"`
	// Partial says that there were requests whose price is not known: USD is what the others cost.
	Partial bool `json:"partial,omitzero"`
}

// Known tells that the cost is all there is to it.
func (c Cost) Known() bool { return !c.Partial }

func (c Cost) add(usd *float64) Cost {
	if usd == nil {
		c.Partial = true
		return c
	}
	c.USD += *usd
	return c
}

// used adds a request. That of a title is no part of a turn, and neither it nor that of a summary says how full the
// context is.
func (s *State) used(d UsageRecorded) {
	s.Spent, s.Cost = s.Spent.Add(d.Usage), s.Cost.add(d.Cost)
	if d.Job != JobTitle {
		s.TurnUsage, s.TurnCost = s.TurnUsage.Add(d.Usage), s.TurnCost.add(d.Cost)
	}
	if d.Job == "" {
		s.Usage = d
	}
}
