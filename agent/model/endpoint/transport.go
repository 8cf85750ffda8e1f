package endpoint

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
)

// longestLine is how much a server may send without a line break before it is taken for garbage. Models send pictures and
// files in one line, so it is large.
const longestLine = 64 << 20

var errLongLine = errors.New("the answer has a line that is too long")

// transport tells the request's [Call] what happens on the wire, which the libraries do not pass on.
type transport struct {
	next http.RoundTripper // nil for http.DefaultTransport
}

// RoundTrip sends the request. Requests without a Call pass through.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	next := t.next
	if next == nil {
		next = http.DefaultTransport
	}
	call, ok := r.Context().Value(callKey{}).(*Call)
	if !ok {
		return next.RoundTrip(r)
	}
	call.asked(r.URL)
	if r.Body != nil && r.Body != http.NoBody {
		// The request is still to be sent while its body is read: that is a sign of life, too.
		r = r.Clone(r.Context())
		r.Body = &sending{r.Body, call}
	}
	resp, err := next.RoundTrip(r)
	if err != nil {
		call.failed(err)
		return nil, err
	}
	call.answered(resp)
	resp.Body = &body{rc: resp.Body, call: call}
	return resp, nil
}

type sending struct {
	io.ReadCloser
	call *Call
}

func (s *sending) Read(p []byte) (int, error) {
	s.call.alive()
	return s.ReadCloser.Read(p)
}

// body reports every byte to the call. What breaks the stream is kept there and shown to the library as the stream's end:
// the libraries print read errors, or wrap them beyond recognition.
type body struct {
	rc   io.ReadCloser
	call *Call
	line int // bytes since the last line break
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.rc.Read(p)
	if n > 0 {
		b.call.alive()
		if i := bytes.LastIndexByte(p[:n], '\n'); i >= 0 {
			b.line = n - i - 1
		} else if b.line += n; b.line > longestLine && err == nil {
			err = errLongLine
		}
	}
	if err != nil {
		b.call.ended(err)
		err = io.EOF
	}
	return n, err
}

func (b *body) Close() error {
	_ = b.rc.Close() // the answer has been read, or is not wanted
	return nil
}

// isPage tells that an answer is a web page, as captive portals and wrong addresses give.
func isPage(h http.Header) bool {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && (kind == "text/html" || kind == "application/xhtml+xml")
}

func hostOf(u *url.URL) string {
	if u == nil {
		return ""
	}
	return u.Host
}
