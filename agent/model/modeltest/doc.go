// Package modeltest is a double for hosted language models: an HTTP server that speaks the wire formats of OpenAI chat
// completions, OpenAI responses, Anthropic messages and Gemini generateContent, streaming and not. It serves in-process
// tests ([NewServer]) and, as the program modeldouble, agents of any origin.
//
// What it answers is written in the prompt itself, as directives:
//
//	[[text: hello]] [[thought: hm]] [[call: run {"command":"ls"}]] [[text: done]]
//
// Directives are carried out in order. A completion ends with its tool calls: calls that stand next to each other are
// made in one completion, and what follows them answers the request that brings their results. See [Help] for all of them.
//
// Directives are looked for in every user item since the last assistant item, because agents add reminders of their own.
// A prompt without any gets the next queued reply, or else [Options.Default].
package modeltest

// Help lists the directives.
const Help = `[[text: TEXT]]                say TEXT, in small pieces
[[thought: TEXT]]             think TEXT (with a signature where the format has one)
[[call: NAME {JSON}]]         call the tool NAME; neighbours go into one completion
[[call-raw: NAME TEXT]]       the same with arguments that need not be JSON
[[tool-shell: COMMAND]]       call whichever offered tool runs commands
[[tool-write: PATH: TEXT]]    call whichever offered tool writes files
[[tool-read: PATH]]           call whichever offered tool reads files
[[anew]]                      forget all directives before this one, such as those of a prompt that was cancelled
[[next]]                      end this completion; the rest answers the next request
[[chunks N BYTES]]            N pieces of text of BYTES bytes each (16 if not given)
[[result]]                    say the text of the latest tool results
[[seen]]                      say what the request held: messages, tools, pictures
[[slow DURATION]]             wait that long before each further piece
[[pause DURATION]]            send nothing for that long, then go on
[[stall]]                     send nothing more, keep the connection
[[cut]]                       break the connection here
[[end]]                       end the body here, without the format's last events
[[garbage]]                   a data line that is not JSON
[[html]]                      a web page instead of an answer (first directive only)
[[status CODE WAIT KIND]]     answer with this HTTP status, once; WAIT is Retry-After in seconds; KIND is
                              quota, context or always (every time, not once)
[[error: TEXT]]               an error event in the middle of the stream
[[usage IN OUT READ WRITE]]   token counts; READ and WRITE are cached ones, contained in IN
[[length]] [[refuse]]         stop because of the output limit, or decline
[[no-ids]] [[same-ids]] [[restart-ids]]  tool call ids are missing, all alike, or call_0, call_1, … in each completion
`
