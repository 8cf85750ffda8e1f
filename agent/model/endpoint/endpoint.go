// Package endpoint is the network side that the model providers share: where a provider is and how it is spoken of, a
// watchdog for silent connections, and failures as sentences that a person understands.
//
// The providers' libraries decide neither on retries nor on time-outs; they get the client that [Endpoint.HTTP] makes.
package endpoint

import (
	"net/http"
	"net/url"
	"time"

	"github.com/wherry-acp/wherry/agent/model"
)

// DefaultIdle is how long a connection may be silent before the request is given up.
const DefaultIdle = 120 * time.Second

// silence is how long a connection is silent before the person is told.
const silence = 30 * time.Second

// Endpoint is where a provider is reached and how messages speak of it.
type Endpoint struct {
	Title   string // the provider as a person calls it: "OpenAI", "Ollama"
	BaseURL string // without a trailing slash; "" for the library's own
	Key     string // the API key; "" if none is needed
	KeyVar  string // the environment variable that holds the key; "" if none is needed
	BaseVar string // the environment variable that changes the address; "" if there is none
	Start   string // what to do when nothing listens there, a sentence; "" for remote ones

	Client *http.Client  // nil for [http.DefaultClient]
	Idle   time.Duration // how long the connection may be silent; 0 for [DefaultIdle], negative for ever
}

// Host is the host and port of BaseURL, for messages. User names and passwords in the URL are left out.
func (e *Endpoint) Host() string {
	u, err := url.Parse(e.BaseURL)
	if err != nil || u.Host == "" {
		return e.Title
	}
	return u.Host
}

// HTTP is the client to give to a provider's library. Requests whose context comes from [Endpoint.Begin] are watched.
func (e *Endpoint) HTTP() *http.Client {
	base := e.Client
	if base == nil {
		base = http.DefaultClient
	}
	c := *base
	c.Timeout = 0 // a stream may last; the watchdog and the context end it
	c.Transport = &transport{next: base.Transport}
	// A redirect would take the key along to another host: only one of the headers that carry keys is known to net/http.
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}

// Error makes a failure of this endpoint.
func (e *Endpoint) Error(info model.Info, kind model.ErrorKind, message string) *model.Error {
	return &model.Error{Kind: kind, Provider: info.Provider, Message: message}
}

func (e *Endpoint) idle() time.Duration {
	switch {
	case e.Idle == 0:
		return DefaultIdle
	case e.Idle < 0:
		return 0
	}
	return e.Idle
}
