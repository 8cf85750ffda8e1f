package host

// TerminalCommand gives the program, its arguments and the variables to add with which an editor's terminal runs a shell
// line as [Local.Run] would: through the same shell, with nothing that waits for a person.
func (l *Local) TerminalCommand(line string) (program string, args, environ []string) {
	child := shellCommand(l.shell, line)
	args = child.Args[1:]
	if len(args) == 0 { // the line is in the command line itself
		args = []string{"/d", "/s", "/c", line}
	}
	return l.shell, args, quiet()
}
