package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/gorxe/gorxe/internal/record"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/verbs"
)

// maxTrace is the maximum length of the file of --trace in bytes.
const maxTrace = 1 << 30

// AddTraceFlag adds the flag --trace, the file to which the packets of a command are written.
func AddTraceFlag(fs *pflag.FlagSet, path *string) {
	fs.StringVar(path, "trace", "",
		"write the packets, including payload, to a `file` for 'gorxe trace' and Wireshark: pcapng, at most 1 GiB")
}

// Recording is the trace of a command.
type Recording struct {
	*record.Recorder
	flag, path string
}

// StartRecording starts the trace of the command in the file path. It does nothing if path is
// empty or the trace has already started.
func (a *App) StartRecording(path string) error {
	if path == "" || a.Recording != nil {
		return nil
	}
	r, err := a.createRecording("trace", path)
	if err == nil {
		a.Recording = r
	}
	return err
}

// AddRecording starts another trace in the file path, which flag names. The caller wraps the links
// with it.
func (a *App) AddRecording(flag, path string) (*Recording, error) {
	r, err := a.createRecording(flag, path)
	if err == nil {
		a.more = append(a.more, r)
	}
	return r, err
}

func (a *App) createRecording(flag, path string) (*Recording, error) {
	r, err := record.Create(path, record.Options{
		Application: "gorxe " + BuildVersion(), MaxBytes: maxTrace,
		Failed: func(err error) {
			fmt.Fprintf(a.Stderr, "gorxe: --%s: %s: packets are no longer recorded\n", flag, OneLine(err))
		},
	})
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	return &Recording{r, flag, path}, nil
}

// recorded makes the links of cfg record to the trace of the command, if it has one. The trace
// shows outgoing packets before, and incoming packets after the faults of cfg.
func (a *App) recorded(cfg *verbs.Config, path string) error {
	if err := a.StartRecording(path); err != nil || a.Recording == nil {
		return err
	}
	wrap, rec := cfg.Wrap, a.Recording.Recorder
	cfg.Observer = rec.Observer()
	cfg.Wrap = func(l packet.Link) packet.Link {
		if wrap != nil {
			l = wrap(l)
		}
		return rec.Wrap("", l)
	}
	return nil
}

// endRecordings ends the traces of the command, whose error is err, and prints the number of
// packets in each.
func (a *App) endRecordings(err error) error {
	if a.Recording != nil {
		err = a.endRecording(a.Recording, err)
	}
	for _, r := range a.more {
		err = a.endRecording(r, err)
	}
	return err
}

func (a *App) endRecording(r *Recording, err error) error {
	cerr := r.Close()
	s := r.Stats()
	fmt.Fprintf(a.Stderr, "gorxe: %s in %s\n", Plural(int(s.Frames), "packet"), r.path)
	if s.Lost > 0 {
		fmt.Fprintf(a.Stderr, "gorxe: %s not recorded: the file could not be written fast enough\n",
			Plural(int(s.Lost), "packet"))
	}
	switch {
	// An interrupt is not part of the message.
	case cerr != nil && errors.Is(err, context.Canceled):
		return &FinalError{fmt.Errorf("--%s: %s is incomplete: %w", r.flag, r.path, cerr)}
	case cerr != nil:
		return &FinalError{errors.Join(err, fmt.Errorf("--%s: %s is incomplete: %w", r.flag, r.path, cerr))}
	case s.Refused > 0:
		fmt.Fprintf(a.Stderr, "gorxe: %s not recorded: the file has reached its limit of 1 GiB\n",
			Plural(int(s.Refused), "packet"))
	}
	return err
}
