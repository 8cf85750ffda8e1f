package model

// Price is what a model costs, in US dollars for a million tokens. The zero value is a model that costs nothing.
type Price struct {
	Input  float64
	Output float64
	// CacheRead and CacheWrite are for the input tokens that the provider read from its cache and put there. 0 means
	// the same as Input, which is never too little for what is read.
	CacheRead  float64
	CacheWrite float64
	// LongAbove is the number of input tokens above which a request counts as long: all its input then costs double and
	// its output half as much again. 0 means that the length makes no difference.
	LongAbove int
}

// Of gives what a request cost, in US dollars.
func (p Price) Of(u Usage) float64 {
	read, write := p.CacheRead, p.CacheWrite
	if read == 0 {
		read = p.Input
	}
	if write == 0 {
		write = p.Input
	}
	fresh := max(0, u.Input-u.CacheRead-u.CacheWrite)
	in := float64(fresh)*p.Input + float64(u.CacheRead)*read + float64(u.CacheWrite)*write
	out := float64(u.Output) * p.Output
	if p.LongAbove > 0 && u.Input > p.LongAbove {
		in, out = in*2, out*1.5
	}
	return (in + out) / 1e6
}
