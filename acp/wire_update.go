package acp

// decodeNotifiedUpdate reads the update of a session/update notification. When the codec tolerates it, an update with a known tag
// that does not decode becomes an unknown one that carries the error: one bad member must not hide a turn's text.
func decodeNotifiedUpdate(d *decoder) (SessionUpdate, error) {
	at := d.i
	u, err := decodeSessionUpdate(d)
	if err == nil || !d.tolerateUpdates || d.b[at] != '{' {
		return u, err
	}
	e, ok := err.(*DecodeError)
	if !ok {
		return nil, err
	}
	e.Path = e.find(d.b)
	d.i = at
	tag, tagErr := d.tag("sessionUpdate")
	if tagErr != nil || tag == nil {
		return nil, err
	}
	name := string(tag)
	raw, err := d.raw()
	return UnknownSessionUpdate{Tag: name, Raw: raw, Err: e}, err
}

func newEnvVariable(name, value string) EnvVariable { return EnvVariable{Name: name, Value: value} }

func newHTTPHeader(name, value string) HTTPHeader { return HTTPHeader{Name: name, Value: value} }
