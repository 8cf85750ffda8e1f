// Package remote carries the protocol over the network: streamable HTTP and WebSocket, both at one endpoint.
//
// A [Handler] is the server. It is an [net/http.Handler] that gives every connection as a transport to a function,
// which serves it for example with acp.Serve:
//
//	handler := remote.NewHandler(func(ctx context.Context, conn *remote.Conn) {
//		_ = acp.Serve(ctx, conn, agent, nil)
//	}, nil)
//	http.Handle("/acp", handler)
//
// [DialHTTP] and [DialWebSocket] are the client; what they return goes to acp.Connect.
//
// A handler trusts nobody by itself: a request with an Origin that is not listed is refused, one to a loopback address
// under another name too. Who may connect is the business of [HandlerOptions.Authorize]; without it everyone who
// reaches the address can.
//
// Over HTTP, order is kept within a stream: there is one for the connection and one for each session. The answer of
// session/load comes on the connection's stream; both sides here hold it back until the replayed updates have passed.
package remote
