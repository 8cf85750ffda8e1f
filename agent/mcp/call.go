package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wherry-acp/wherry/agent/tool"
)

const (
	maxLive     = 64 << 10 // bytes of progress shown of a call
	maxProgress = 500      // characters of one message of progress
	overLimit   = 4 * time.Second
)

// call is a prepared call of a server's tool.
type call struct {
	tool *serverTool
	args json.RawMessage
}

// callLimitError says that a call took too long.
type callLimitError struct{ limit time.Duration }

func (e *callLimitError) Error() string {
	return fmt.Sprintf("there was no answer within %s", e.limit)
}

// Run implements [tool.Call]. It returns at once when ctx ends: the server is told to stop, and not waited for.
func (c *call) Run(ctx context.Context, out tool.Output) tool.Result {
	s := c.tool.server
	conn, result, err := c.try(ctx, out)
	if errors.Is(err, sdk.ErrSessionMissing) && ctx.Err() == nil {
		// The server has forgotten the session, which is all it said: nothing was done, so it may be done in a new one.
		select {
		case <-conn.over:
			_, result, err = c.try(ctx, out)
		case <-ctx.Done():
		}
	}
	if err == nil {
		return s.result(result)
	}
	return tool.Failure(s.secrets.say(c.why(ctx, conn, err)))
}

// try makes one attempt. The connection is nil when there was none.
func (c *call) try(ctx context.Context, out tool.Output) (*connection, *sdk.CallToolResult, error) {
	s := c.tool.server
	conn, err := s.use(ctx)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.cfg.CallTimeout, &callLimitError{s.cfg.CallTimeout})
	defer cancel()

	token, release := conn.listen(s.progress(out))
	defer release()
	params := &sdk.CallToolParams{Name: c.tool.name, Arguments: c.args}
	params.SetProgressToken(token)
	replies := make(chan reply, 1)
	running := conn.spawn(ctx, func(ctx context.Context) {
		result, err := conn.session.CallTool(ctx, params)
		replies <- reply{result, err}
	})
	if !running {
		return conn, nil, errStopped
	}
	select {
	case r := <-replies:
		if errors.Is(r.err, context.Canceled) || errors.Is(r.err, context.DeadlineExceeded) {
			r.err = errStopped
			if ctx.Err() != nil {
				r.err = context.Cause(ctx)
			}
		}
		return conn, r.result, r.err
	case <-ctx.Done(): // the SDK may take a moment longer
		return conn, nil, context.Cause(ctx)
	case <-s.set.closing:
		return conn, nil, errStopped
	}
}

// reply is how a call ended.
type reply struct {
	result *sdk.CallToolResult
	err    error
}

// progress gives a receiver that shows a server's progress, up to a limit.
func (s *server) progress(out tool.Output) func(text string) {
	shown := 0
	return func(text string) {
		if shown >= maxLive {
			return
		}
		line := clip(strings.Join(strings.Fields(s.secrets.say(text)), " "), maxProgress) + "\n"
		shown += len(line)
		out.Text(line)
	}
}

// why says why a call failed.
func (c *call) why(ctx context.Context, conn *connection, err error) string {
	server := fmt.Sprintf("the MCP server %q", c.tool.server.cfg.Name)
	if ctx.Err() != nil {
		return "Stopped before " + server + " had answered; it is not known how far it came."
	}
	if conn == nil {
		return "The call was not made, since " + server + " is not available: " + err.Error()
	}
	if limit := new(callLimitError); errors.As(err, &limit) {
		return fmt.Sprintf("Stopped: %s from %s (its callTimeout). It is not known how far it came.", limit, server)
	}
	if lost(err) {
		timer := time.NewTimer(overLimit)
		defer timer.Stop()
		gone := "The call failed, since " + server + " is gone; it is not known how far it came: "
		select {
		case <-conn.over:
			return gone + conn.why.Error()
		case <-c.tool.server.set.closing:
			return gone + "the session is closed"
		case <-ctx.Done():
		case <-timer.C:
		}
	} else if answer := answered(err); answer != nil {
		return fmt.Sprintf("Refused by %s: %s (error %d)", server, answer.Message, answer.Code)
	}
	if form := malformed(err); form != "" {
		return "The call of " + server + " was made, but " + form
	}
	return fmt.Sprintf("The call of %s failed: %v", server, err)
}

// lost tells whether an error says that the connection is over.
func lost(err error) bool {
	for _, sign := range []error{io.EOF, io.ErrClosedPipe, errStopped, sdk.ErrConnectionClosed, sdk.ErrSessionMissing} {
		if errors.Is(err, sign) {
			return true
		}
	}
	return false
}

// codeRejected is how the SDK marks an error of the transport.
const codeRejected = -32005

// answered gives the server's own error, if err is one.
func answered(err error) *jsonrpc.Error {
	answer := new(jsonrpc.Error)
	if lost(err) || !errors.As(err, &answer) || answer.Code == codeRejected {
		return nil
	}
	return answer
}
