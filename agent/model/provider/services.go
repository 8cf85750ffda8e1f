package provider

// Service describes a provider to people who choose one.
type Service struct {
	ID      string // what stands before the slash in a model's id
	Title   string // what people call it
	KeyVar  string // the variable with its API key; "" if it needs none
	BaseVar string // the variable that changes its address
	Model   string // the name of its default model; "" if there is none
	Local   bool   // it is a server on the person's machine, which can say what it has: see [Remote]
	Start   string // what to do when it does not run; "" for a hosted one
}

// Services are the providers, in the order in which [Default] prefers them. The embedded model is none of them.
func Services() []Service {
	var list []Service
	for _, s := range services() {
		list = append(list, Service{
			ID: s.id, Title: s.title, KeyVar: s.keyVar, BaseVar: s.baseVars[0], Model: s.model, Local: s.local != nil, Start: s.start,
		})
	}
	return list
}
