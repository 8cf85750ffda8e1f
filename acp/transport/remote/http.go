package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// post takes a message from the client. The checks are in the order of the reference implementation.
func (h *Handler) post(w http.ResponseWriter, r *http.Request, principal string) {
	if media, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); !strings.EqualFold(strings.TrimSpace(media), mediaJSON) {
		refuse(w, http.StatusUnsupportedMediaType, "Unsupported Media Type")
		return
	}
	body, ok := h.body(w, r)
	if !ok {
		return
	}
	e, err := peek(body)
	switch {
	case errors.Is(err, errBatch):
		answer(w, http.StatusBadRequest, failure(nil, codeInvalidRequest, "Invalid request: "+errBatch.Error(), nil))
		return
	case errors.Is(err, errNotObject):
		refuse(w, http.StatusBadRequest, "Invalid JSON-RPC message")
		return
	case err != nil:
		refuse(w, http.StatusBadRequest, "Invalid JSON")
		return
	}
	id := r.Header.Get(HeaderConnectionID)
	if e.initialize() {
		if id != "" {
			refuse(w, http.StatusBadRequest, "Initialize not allowed on existing connection")
			return
		}
		h.open(w, r, principal, &e, body)
		return
	}
	c := h.connection(w, r, principal)
	if c == nil {
		return
	}
	defer c.use()()
	status, text := c.take(r, &e, body)
	if status != http.StatusAccepted {
		refuse(w, status, text)
		return
	}
	w.WriteHeader(status)
}

const (
	codeParseError     = -32700
	codeInvalidRequest = -32600
	codeInternalError  = -32603
)

// statusClientGone is what the reference implementation answers a client that does not listen any more.
const statusClientGone = 499

// body reads a message within the limit.
func (h *Handler) body(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	limit := int64(h.opts.MaxBodyBytes)
	tooLarge := func() {
		refuse(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("The message is larger than the limit of %d bytes", limit))
	}
	if r.ContentLength > limit {
		tooLarge()
		return nil, false
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		tooLarge()
		return nil, false
	}
	if err != nil {
		refuse(w, statusClientGone, "Request aborted")
		return nil, false
	}
	return body, true
}

// connection finds the connection that a request names; it has answered if it returns nil.
func (h *Handler) connection(w http.ResponseWriter, r *http.Request, principal string) *httpConn {
	id := r.Header.Get(HeaderConnectionID)
	if id == "" {
		refuse(w, http.StatusBadRequest, "Missing "+HeaderConnectionID)
		return nil
	}
	c := h.find(id, principal)
	if c == nil {
		refuse(w, http.StatusNotFound, "Unknown "+HeaderConnectionID)
	}
	return c
}

// open makes a connection and answers with what the agent answers to initialize.
func (h *Handler) open(w http.ResponseWriter, r *http.Request, principal string, e *envelope, body []byte) {
	if e.id == "" {
		refuse(w, http.StatusBadRequest, "Initialize request must include an ID")
		return
	}
	if units(e.id)-1 > h.opts.MaxIDLength {
		refuse(w, http.StatusBadRequest, errLongID.Error())
		return
	}
	c := newHTTPConn(h, newID(), principal, e.id)
	if err := h.register(c.id, c); err != nil {
		c.leave(err)
		c.reaper.Stop()
		unavailable(w, err)
		return
	}
	defer c.use()()
	h.log.Info("connection opened", "connection", short(c.id), "peer", r.RemoteAddr, "transport", "http")
	ended := make(chan struct{})
	ctx, stop := h.serveContext(r)
	conn := &Conn{Transport: c, ID: c.id, Principal: principal, Request: r}
	go func() {
		defer h.served.Done()
		defer stop()
		defer close(ended)
		h.run(ctx, conn)
		_ = c.Close()
	}()
	if err := c.deliver(r.Context(), body); err == nil {
		select {
		case msg := <-c.opened:
			h.answerOpen(w, c, msg)
			return
		case <-ended:
			select {
			case msg := <-c.opened: // it answered and ended
				h.answerOpen(w, c, msg)
				return
			default:
			}
		case <-c.gone.Done():
		case <-r.Context().Done():
		}
	}
	c.abandon(errGone)
	if r.Context().Err() != nil {
		refuse(w, statusClientGone, "Request aborted")
		return
	}
	answer(w, http.StatusInternalServerError, failure(e.rawID, codeInternalError, "Initialize failed", nil))
}

func (h *Handler) answerOpen(w http.ResponseWriter, c *httpConn, msg []byte) {
	w.Header().Set(HeaderConnectionID, c.id)
	answer(w, http.StatusOK, msg)
	if e, err := peek(msg); err != nil || e.failed {
		c.abandon(errors.New("the agent refused to initialize")) // nothing could initialize it later
	}
}

// serveContext is that of a serve function: it has the request's values and ends with the handler.
func (h *Handler) serveContext(r *http.Request) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(r.Context()))
	stop := context.AfterFunc(h.ctx, func() { cancel(context.Cause(h.ctx)) })
	return ctx, func() { stop(); cancel(nil) }
}

func unavailable(w http.ResponseWriter, err error) {
	w.Header().Set("Retry-After", "5")
	refuse(w, http.StatusServiceUnavailable, "Service Unavailable: "+err.Error())
}

// take checks a message of an open connection and hands it to the agent.
func (c *httpConn) take(r *http.Request, e *envelope, body []byte) (status int, text string) {
	header, named := r.Header.Get(HeaderSessionID), r.Header[HeaderSessionID] != nil
	if e.response() {
		c.mu.Lock()
		session := c.asked[e.id]
		switch {
		case session != "" && !named:
			status, text = http.StatusBadRequest, "Missing "+HeaderSessionID
		case session != "" && header != session:
			status, text = http.StatusBadRequest, "Mismatched "+HeaderSessionID
		default:
			delete(c.asked, e.id)
		}
		c.mu.Unlock()
		if status != 0 {
			return status, text
		}
		return c.accepted(r, body, nil)
	}
	switch {
	case (ofSession(e.method) || e.hasSession) && header == "":
		return http.StatusBadRequest, "Missing " + HeaderSessionID
	case named && e.hasSession && header != e.session:
		return http.StatusBadRequest, "Mismatched " + HeaderSessionID
	case units(header) > c.h.opts.MaxIDLength, units(e.id)-1 > c.h.opts.MaxIDLength:
		return http.StatusBadRequest, errLongID.Error()
	}
	if e.notification() {
		return c.accepted(r, body, nil)
	}
	if c.h.isDraining() {
		return http.StatusServiceUnavailable, errShutdown.Error()
	}
	if err := c.room(r.Context()); err != nil {
		if r.Context().Err() != nil {
			return statusClientGone, "Request aborted"
		}
		return http.StatusNotFound, "Unknown " + HeaderConnectionID
	}
	if !e.request() || e.id == "" {
		return c.accepted(r, body, nil)
	}
	return c.accepted(r, body, c.expect(e, header))
}

func (c *httpConn) accepted(r *http.Request, body []byte, forget func()) (status int, text string) {
	err := c.deliver(r.Context(), body)
	if err == nil {
		return http.StatusAccepted, ""
	}
	if forget != nil {
		forget()
	}
	if errors.Is(err, errGone) {
		return http.StatusNotFound, "Unknown " + HeaderConnectionID
	}
	return statusClientGone, "Request aborted"
}

// get opens an event stream.
func (h *Handler) get(w http.ResponseWriter, r *http.Request, principal string) {
	if !accepts(r, mediaEvents) {
		refuse(w, http.StatusNotAcceptable, "Not Acceptable")
		return
	}
	c := h.connection(w, r, principal)
	if c == nil {
		return
	}
	session := r.Header.Get(HeaderSessionID)
	if units(session) > h.opts.MaxIDLength {
		refuse(w, http.StatusBadRequest, errLongID.Error())
		return
	}
	defer c.use()()
	s, err := c.attach(session)
	if err != nil {
		refuse(w, http.StatusNotFound, "Unknown "+HeaderConnectionID)
		return
	}
	if s == nil {
		refuse(w, http.StatusConflict, "Outbound stream already has an active receiver")
		return
	}
	defer c.detach(s)
	w.Header().Set("Content-Type", mediaEvents)
	w.Header().Set("Cache-Control", "no-cache, no-store")
	w.Header().Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	if err := c.pump(w, r, s); errors.Is(err, errStalled) {
		c.abandon(err)
	}
}

// accepts reports whether a request takes the media type.
func accepts(r *http.Request, media string) bool {
	for _, line := range r.Header.Values("Accept") {
		for part := range strings.SplitSeq(line, ",") {
			if name, _, err := mime.ParseMediaType(part); err == nil && name == media {
				return true
			}
		}
	}
	return false
}

// pump writes a stream's messages as events until the client or the connection is gone.
func (c *httpConn) pump(w http.ResponseWriter, r *http.Request, s *stream) error {
	out := newEventWriter(w, c.h.opts.StallTimeout)
	aborted := make(chan struct{})
	stop := context.AfterFunc(c.gone, func() { defer close(aborted); out.abort() })
	defer func() {
		if !stop() {
			<-aborted
		}
	}()
	if err := out.flush(); err != nil {
		return err
	}
	keepAlive := time.NewTicker(c.h.opts.KeepAlive)
	defer keepAlive.Stop()
	var batch [][]byte
	for {
		var finished bool
		batch, finished = c.peekBatch(s, batch[:0])
		switch {
		case finished, c.gone.Err() != nil:
			return nil
		case len(batch) > 0:
			if err := out.events(batch); err != nil {
				return err
			}
			c.wrote(s, len(batch))
			keepAlive.Reset(c.h.opts.KeepAlive)
			continue
		}
		select {
		case <-s.wake:
		case <-keepAlive.C:
			if err := out.comment(); err != nil {
				return err
			}
		case <-c.gone.Done():
		case <-r.Context().Done():
			return r.Context().Err()
		}
	}
}

// delete ends a connection for its client.
func (h *Handler) delete(w http.ResponseWriter, r *http.Request, principal string) {
	c := h.connection(w, r, principal)
	if c == nil {
		return
	}
	c.abandon(errDeleted)
	w.WriteHeader(http.StatusAccepted)
}

func answer(w http.ResponseWriter, status int, msg jsontext.Value) {
	w.Header().Set("Content-Type", mediaJSON)
	w.WriteHeader(status)
	_, _ = w.Write(msg)
}
