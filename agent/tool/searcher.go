package tool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"github.com/wherry-acp/wherry/agent/host"
)

const (
	maxSearchFile  = 10 << 20 // bytes; larger files are not searched
	maxHits        = 200      // lines shown
	maxHitsPerFile = 50
	maxHitLine     = 300 // characters shown of a line
	searchWorkers  = 2
	sniffBytes     = 8000 // how far a NUL byte makes a file binary, as git does it
)

// search is one search. Files are walked by one goroutine and read by two; the result is in the order of the walk and does
// not depend on which was faster.
type search struct {
	host    host.Host
	matcher *lineMatcher

	mu      sync.Mutex
	files   []fileHits // by the order of the walk
	settled int        // files before this one are done
	kept    int        // lines kept in settled files
	secret  int        // files passed over
	large   int
}

type fileHits struct {
	done  bool
	show  string
	count int
	lines []string // "path:line: text"; fewer than count when capped
}

func newSearch(h host.Host, m *lineMatcher) *search { return &search{host: h, matcher: m} }

type searchJob struct {
	index int
	info  host.Info
}

func (s *search) run(ctx context.Context, start string, included func(host.Path) bool) error {
	group, ctx := errgroup.WithContext(ctx)
	jobs := make(chan searchJob, 64)
	group.Go(func() error {
		defer close(jobs)
		return s.host.Walk(ctx, start, func(info host.Info) error {
			if !included(info.Path) {
				return nil
			}
			index, ok := s.admit(info)
			if !ok {
				return nil
			}
			select {
			case jobs <- searchJob{index, info}:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
	})
	for range searchWorkers {
		group.Go(func() error {
			for job := range jobs {
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				s.settle(job.index, s.searchFile(ctx, job.info))
			}
			return nil
		})
	}
	return group.Wait()
}

// admit gives a file its place in the result, or passes it over.
func (s *search) admit(info host.Info) (int, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case SecretPath(info.Path.Abs):
		s.secret++
		return 0, false
	case info.Size > maxSearchFile:
		s.large++
		return 0, false
	}
	s.files = append(s.files, fileHits{})
	return len(s.files) - 1, true
}

// settle records what was found in a file. Lines that cannot be shown any more are not kept.
func (s *search) settle(index int, hits fileHits) {
	s.mu.Lock()
	defer s.mu.Unlock()
	hits.done = true
	if s.kept >= maxHits {
		hits.lines = nil
	}
	s.files[index] = hits
	for s.settled < len(s.files) && s.files[s.settled].done {
		s.kept += len(s.files[s.settled].lines)
		s.settled++
	}
}

func (s *search) searchFile(ctx context.Context, info host.Info) fileHits {
	hits := fileHits{show: info.Path.Show}
	data, err := s.read(ctx, info.Path)
	if err != nil {
		if errors.Is(err, host.ErrTooLarge) {
			s.mu.Lock()
			s.large++
			s.mu.Unlock()
		}
		return hits
	}
	data, ok := s.searchable(data)
	if !ok {
		return hits
	}
	s.matcher.each(data, func(number int, line []byte, start, end int) bool {
		hits.count++
		if len(hits.lines) < maxHitsPerFile {
			hits.lines = append(hits.lines, fmt.Sprintf("%s:%d: %s", hits.show, number, window(line, start, end)))
		}
		return true
	})
	return hits
}

// visitedReader is a host that reads what its walk visited without looking for it again.
type visitedReader interface {
	ReadVisited(ctx context.Context, p host.Path, limit int64) ([]byte, error)
}

func (s *search) read(ctx context.Context, p host.Path) ([]byte, error) {
	if reader, ok := s.host.(visitedReader); ok {
		return reader.ReadVisited(ctx, p, maxSearchFile)
	}
	return s.host.ReadBytes(ctx, p.Show, maxSearchFile)
}

// searchable gives the bytes to search: those of the file where that gives the right lines, else its text in UTF-8.
func (s *search) searchable(data []byte) ([]byte, bool) {
	wide := bytes.HasPrefix(data, []byte{0xFF, 0xFE}) || bytes.HasPrefix(data, []byte{0xFE, 0xFF})
	binary := bytes.IndexByte(data[:min(len(data), sniffBytes)], 0) >= 0
	if !wide && !binary && (s.matcher.asciiOnly() && !bytes.Contains(data, s.matcher.literal) && !s.matcher.fold || utf8.Valid(data)) {
		return data, true
	}
	text, err := host.Decode(data)
	return []byte(text.Content), err == nil
}

// window clips a line so that the match from start to end is in it.
func window(line []byte, start, end int) string {
	const before = 80 // characters shown before a match that is far to the right
	text := strings.ToValidUTF8(string(line), string(utf8.RuneError))
	if utf8.RuneCountInString(text) <= maxHitLine {
		return text
	}
	if len(text) == len(line) && utf8.RuneCount(line[:min(end, len(line))]) >= maxHitLine {
		for n := 0; start > 0 && n < before; n++ {
			_, size := utf8.DecodeLastRune(line[:start])
			start -= size
		}
		if start > 0 {
			return "…" + clip(text[start:], maxHitLine-1)
		}
	}
	return clip(text, maxHitLine)
}

// render gives the result for the model.
func (s *search) render() string {
	lines, files, shown, open := 0, 0, 0, 0
	var body strings.Builder
	for _, file := range s.files {
		if file.count == 0 {
			continue
		}
		lines += file.count
		files++
		n := min(len(file.lines), maxHits-shown)
		for _, line := range file.lines[:n] {
			body.WriteByte('\n')
			body.WriteString(line)
		}
		shown += n
		if n < file.count {
			open++
		}
	}
	out := "no matches"
	if lines > 0 {
		out = fmt.Sprintf("%d matches in %d files", lines, files) + body.String()
	}
	var notes []string
	if shown < lines {
		notes = append(notes, fmt.Sprintf("%d more matches in %d files are not shown (at most %d in all, %d in a file): narrow the pattern, path or include",
			lines-shown, open, maxHits, maxHitsPerFile))
	}
	if s.secret > 0 {
		notes = append(notes, fmt.Sprintf("files that usually hold secrets were not searched: %d", s.secret))
	}
	if s.large > 0 {
		notes = append(notes, fmt.Sprintf("files over %d MiB were not searched: %d", maxSearchFile>>20, s.large))
	}
	if len(notes) > 0 {
		out += "\n… " + strings.Join(notes, "; ")
	}
	return out
}
