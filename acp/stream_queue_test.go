package acp

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
)

func numbered(i int) SessionUpdate {
	return AgentMessageChunk{MessageID: MessageID(strconv.Itoa(i))}
}

func numberOf(t *testing.T, u SessionUpdate) int {
	t.Helper()
	n, err := strconv.Atoi(string(u.(AgentMessageChunk).MessageID))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func upTo(n int) (all []int) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

func TestAReaderGetsEveryUpdateInOrderAndTheSenderWaitsForASlowOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const total = 5 * streamBuffer
		q := newUpdateQueue()
		sent := 0
		go func() {
			for i := range total {
				if !q.push(t.Context(), numbered(i)) {
					t.Errorf("update %d was not taken", i)
				}
				sent++
			}
			q.end()
		}()
		synctest.Wait()
		if sent != streamBuffer {
			t.Errorf("%d updates were sent while nobody read, expected %d", sent, streamBuffer)
		}
		var got []int
		for run := q.next(nil); run != nil; run = q.next(run) {
			for _, u := range run {
				got = append(got, numberOf(t, u))
			}
		}
		if !slices.Equal(got, upTo(total)) {
			t.Errorf("read %v", got)
		}
		if q.push(t.Context(), numbered(total)) {
			t.Error("an update was taken after the reader had seen the end")
		}
	})
}

func TestWhatAReaderLeavesIsHandedOverInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newUpdateQueue()
		var handed []int
		hand := func(u SessionUpdate) { handed = append(handed, numberOf(t, u)) }
		for i := range 10 {
			q.push(t.Context(), numbered(i))
		}
		q.handOver(hand)
		if len(handed) > 0 {
			t.Fatalf("%v was handed over while somebody may still read", handed)
		}
		run := q.next(nil)
		for i := 10; i < 20; i++ {
			q.push(t.Context(), numbered(i))
		}
		q.leave(run[3:])
		if q.push(t.Context(), numbered(20)) {
			t.Error("an update was taken after the reader had left")
		}
		q.handOver(hand)
		q.handOver(hand)
		if want := upTo(20)[3:]; !slices.Equal(handed, want) {
			t.Errorf("handed over %v, expected %v", handed, want)
		}
	})
}

func TestASenderThatWaitsForTheReaderGivesUpWhenItLeavesOrTheContextEnds(t *testing.T) {
	for name, end := range map[string]func(*updateQueue, context.CancelFunc){
		"reader leaves": func(q *updateQueue, _ context.CancelFunc) { q.leave(nil) },
		"call ends":     func(q *updateQueue, _ context.CancelFunc) { q.end() },
		"context ends":  func(_ *updateQueue, cancel context.CancelFunc) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				q := newUpdateQueue()
				for i := range streamBuffer {
					q.push(ctx, numbered(i))
				}
				taken := make(chan bool, 1)
				go func() { taken <- q.push(ctx, numbered(streamBuffer)) }()
				synctest.Wait()
				if len(taken) > 0 {
					t.Fatal("the sender did not wait")
				}
				end(q, cancel)
				if <-taken {
					t.Error("an update was taken that nobody will read")
				}
			})
		})
	}
}
