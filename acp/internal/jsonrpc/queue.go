package jsonrpc

const (
	parcelBytes = 32 << 10 // of params, about, in a parcel
	keepParcels = 4        // kept for later when they are empty
)

// An item is a received notification, or a barrier: the answer to a call, which is
// delivered when everything before it has been handled.
type item struct {
	method string
	end    int    // offset in the parcel's data behind its params
	own    []byte // its params if they are not in data
	call   *Call
}

// A parcel is a run of items of one key, with their params behind each other.
type parcel struct {
	items []item
	data  []byte
}

// A queue holds the notifications of one key, in order. It exists while it has work.
type queue struct {
	parcels []*parcel
}

// last returns the parcel that n bytes more go to.
func (q *queue) last(in *inbox, n int) *parcel {
	if at := len(q.parcels) - 1; at >= 0 && len(q.parcels[at].data)+n <= parcelBytes {
		return q.parcels[at]
	}
	var p *parcel
	if at := len(in.spare) - 1; at >= 0 {
		p, in.spare = in.spare[at], in.spare[:at]
	} else {
		p = &parcel{}
		if at := len(q.parcels) - 1; at >= 0 { // there is much to come
			p.data, p.items = make([]byte, 0, parcelBytes), make([]item, 0, len(q.parcels[at].items)*9/8)
		}
	}
	q.parcels = append(q.parcels, p)
	return p
}

// add copies a notification to the end. Large params are copied already, and kept.
func (q *queue) add(in *inbox, method string, params []byte) {
	if len(params) > ownBytes {
		p := q.last(in, 0)
		p.items = append(p.items, item{method: method, own: params, end: len(p.data)})
		return
	}
	p := q.last(in, len(params))
	p.data = append(p.data, params...)
	p.items = append(p.items, item{method: method, end: len(p.data)})
}

// addCall adds a barrier.
func (q *queue) addCall(in *inbox, c *Call) {
	p := q.last(in, 0)
	p.items = append(p.items, item{call: c, end: len(p.data)})
}

// take removes the first parcel.
func (q *queue) take() *parcel {
	p := q.parcels[0]
	n := copy(q.parcels, q.parcels[1:])
	q.parcels[n] = nil
	q.parcels = q.parcels[:n]
	return p
}

// recycle takes back a parcel that was handled.
func (in *inbox) recycle(p *parcel) {
	if len(in.spare) < keepParcels {
		clear(p.items)
		p.items, p.data = p.items[:0], p.data[:0]
		in.spare = append(in.spare, p)
	}
}

// params returns those of the item at i; nil if there are none.
func (p *parcel) params(i int) []byte {
	it := &p.items[i]
	if it.own != nil {
		return it.own
	}
	start := 0
	if i > 0 {
		start = p.items[i-1].end
	}
	if start == it.end {
		return nil
	}
	return p.data[start:it.end:it.end]
}
