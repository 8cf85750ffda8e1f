package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"time"

	"github.com/coder/websocket"

	"github.com/wherry-acp/wherry/acp/transport"
)

// DialOptions tune a client's transport. The zero value is ready to use.
type DialOptions struct {
	// Header is sent with every request, for example Authorization. The transport's own headers win.
	Header http.Header

	// Client makes the requests; its Timeout must be 0, for event streams do not end. Nil makes one that follows the
	// environment's proxy settings. Redirects are never followed: they would carry credentials and messages elsewhere.
	Client *http.Client

	// Jar keeps cookies. A jar of the caller's survives the connection, so that the next one finds the same server again. Nil
	// takes the Client's, or one that lives as long as the connection.
	Jar http.CookieJar

	MaxMessageBytes int           // of one message from the server; 0 means 32 MiB
	StallTimeout    time.Duration // for the peer of a WebSocket to take a part of a message; 0 means 60 s
	PingInterval    time.Duration // between pings of a WebSocket; 0 means 25 s, less than 0 never
	CloseTimeout    time.Duration // for telling the server that an HTTP connection ends; 0 means 2 s

	// Settle is how long a session's stream must be silent before the answer of session/load, which comes on another stream, is
	// handed on, so that the replayed updates come first. 0 means 50 ms, less than 0 not at all.
	Settle time.Duration
}

// A StatusError reports a request that the server refused.
type StatusError struct {
	Op     string // what was asked, for example "initialize" or "event stream"
	Status int    // of HTTP
	Body   string // what the server said, at most 8 KiB
}

// Error has what was asked, the status and what the server said.
func (e *StatusError) Error() string {
	if e.Body == "" {
		return fmt.Sprintf("%s: the server answers %d %s", e.Op, e.Status, http.StatusText(e.Status))
	}
	return fmt.Sprintf("%s: the server answers %d %s: %s", e.Op, e.Status, http.StatusText(e.Status), e.Body)
}

// ErrStreamEnded ends an HTTP connection whose event stream the server has ended.
var ErrStreamEnded = errors.New("the server has ended the connection's event stream")

func (o *DialOptions) withDefaults() DialOptions {
	var c DialOptions
	if o != nil {
		c = *o
	}
	or(&c.MaxMessageBytes, transport.DefaultMaxMessageBytes)
	or(&c.StallTimeout, DefaultStallTimeout)
	or(&c.CloseTimeout, 2*time.Second)
	if c.PingInterval == 0 {
		c.PingInterval = DefaultPingInterval
	}
	if c.Settle == 0 {
		c.Settle = 50 * time.Millisecond
	}
	return c
}

// client makes the HTTP client of a connection. done gives back what is the connection's own.
func (o *DialOptions) client() (client *http.Client, done func(), err error) {
	done = func() {}
	if o.Client != nil {
		copied := *o.Client
		client = &copied
	} else {
		own := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 10 * time.Second, IdleConnTimeout: 90 * time.Second}
		client, done = &http.Client{Transport: own}, own.CloseIdleConnections
	}
	if o.Jar != nil {
		client.Jar = o.Jar
	}
	if client.Jar == nil {
		if client.Jar, err = cookiejar.New(nil); err != nil {
			return nil, nil, fmt.Errorf("make a cookie jar: %w", err)
		}
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return client, done, nil
}

// parseURL checks a server's URL; it takes both schemes of each kind and gives the ones wanted.
func parseURL(rawURL string, plain, secure string) (string, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return "", fmt.Errorf("the server's URL: %w", err)
	}
	switch u.Scheme {
	case "http", "ws":
		u.Scheme = plain
	case "https", "wss":
		u.Scheme = secure
	default:
		return "", fmt.Errorf("the server's URL has the scheme %q; http, https, ws and wss are possible", u.Scheme)
	}
	if u.Host == "" {
		return "", errors.New("the server's URL has no host")
	}
	return u.String(), nil
}

// DialWebSocket connects to a server by WebSocket; ctx bounds the handshake only. A refusal is a *StatusError. opts may
// be nil. Reading ends with io.EOF when the server says goodbye in order, otherwise with a *CloseError.
func DialWebSocket(ctx context.Context, rawURL string, opts *DialOptions) (transport.Transport, error) {
	o := opts.withDefaults()
	target, err := parseURL(rawURL, "ws", "wss")
	if err != nil {
		return nil, err
	}
	client, done, err := o.client()
	if err != nil {
		return nil, err
	}
	defer done()
	ws, resp, err := websocket.Dial(ctx, target, &websocket.DialOptions{HTTPClient: client, HTTPHeader: o.Header, Subprotocols: []string{"acp"}})
	if err != nil {
		if resp != nil && resp.StatusCode != http.StatusSwitchingProtocols {
			defer resp.Body.Close()
			return nil, refusal("WebSocket", resp)
		}
		return nil, fmt.Errorf("connect to %s: %w", redacted(target), err)
	}
	s := newSocket(ws, o.MaxMessageBytes, o.StallTimeout, o.PingInterval)
	s.start()
	return s, nil
}

// redacted is a URL without what may be secret in it.
func redacted(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return "the server"
	}
	u.RawQuery = ""
	return u.Redacted()
}

// refusal reads what a server says about a request that it refused.
func refusal(op string, resp *http.Response) *StatusError {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	return &StatusError{Op: op, Status: resp.StatusCode, Body: string(body)}
}
