package offline

import (
	"context"
	"fmt"
	"strings"
)

// setPlan replaces the plan; the next call carries it.
func (w *worker) setPlan(entries []string) {
	w.plan = nil
	for _, e := range entries {
		w.plan = append(w.plan, task{e, pending})
	}
	w.dirty = true
}

// mark changes the state of one task.
func (w *worker) mark(i int, status string) {
	plan := append([]task(nil), w.plan...)
	plan[i].Status = status
	w.plan, w.dirty = plan, true
}

func (w *worker) planAsk() ask { return ask{"plan", planArgs{w.plan}} }

// flushPlan sets the plan if it changed since it was last set. When alone, the plan is all the list has, and it is said.
func (w *worker) flushPlan(alone bool) error {
	if !w.dirty {
		return nil
	}
	r, err := w.one("plan", planArgs{w.plan})
	if err != nil {
		return err
	}
	w.dirty = false
	if r.failed {
		w.failedTo("set the plan", r)
		return nil
	}
	if alone {
		w.sayf("The plan has %s:\n\n%s\n`next` takes the first one, `do` all of them, `done 1` ticks one off.\n\n", count(len(w.plan), "task"), w.planText())
	}
	return nil
}

func (w *worker) planText() string {
	var b strings.Builder
	for i, t := range w.plan {
		mark := " "
		switch t.Status {
		case completed:
			mark = "x"
		case inProgress:
			mark = "~"
		}
		fmt.Fprintf(&b, "%d. [%s] %s\n", i+1, mark, t.Content)
	}
	return b.String()
}

func (w *worker) showPlan() (outcome, error) {
	if len(w.plan) == 0 {
		w.say("There is no plan yet; `plan: first; second; third` makes one.\n\n")
		return missed, nil
	}
	w.sayf("The plan:\n\n%s\n", w.planText())
	return done, nil
}

// doPlan carries out the open tasks that are instructions themselves, one or all. It stops at one that is not: that is
// the person's, or a language model's.
func (w *worker) doPlan(ctx context.Context, ins doIns) (outcome, error) {
	if len(w.plan) == 0 {
		return w.showPlan()
	}
	did := false
	for i := range w.plan {
		if w.plan[i].Status == completed {
			continue
		}
		if did && ins.one {
			break
		}
		p := parse(ctx, w.plan[i].Content)
		if len(p.problems) > 0 || len(p.list) != 1 || !fitsPlan(p.list[0]) {
			w.mark(i, inProgress)
			if err := w.flushPlan(false); err != nil {
				return halted, err
			}
			w.sayf("Task %d, “%s”, is not an instruction that I can carry out. When it is done, say `done %d`.\n\n", i+1, w.plan[i].Content, i+1)
			return missed, nil
		}
		did = true
		w.mark(i, inProgress)
		result, err := w.carryOut(ctx, p.list[0])
		if err != nil {
			return halted, err
		}
		if result != done {
			w.mark(i, pending)
			w.sayf("Task %d stays open.\n\n", i+1)
			return result, w.flushPlan(false)
		}
		w.mark(i, completed)
	}
	if err := w.flushPlan(false); err != nil {
		return halted, err
	}
	if !did {
		w.say("Every task of the plan is done.\n\n")
	}
	return done, nil
}

// fitsPlan tells whether an instruction may be a task: not one that works on the plan itself.
func fitsPlan(ins instruction) bool {
	switch ins.(type) {
	case planIns, doIns, doneIns, helpIns:
		return false
	}
	return true
}

func (w *worker) donePlan(ins doneIns) (outcome, error) {
	if len(w.plan) == 0 {
		return w.showPlan()
	}
	which := ins.numbers
	if len(which) == 0 { // the task at hand, else the first open one
		for _, status := range []string{inProgress, pending} {
			for i, t := range w.plan {
				if len(which) == 0 && t.Status == status {
					which = []int{i + 1}
				}
			}
		}
	}
	for _, n := range which {
		if n > len(w.plan) {
			w.sayf("The plan has no task %d; it has %s.\n\n", n, count(len(w.plan), "task"))
			return missed, nil
		}
		w.mark(n-1, completed)
	}
	if err := w.flushPlan(false); err != nil {
		return halted, err
	}
	return w.showPlan()
}
