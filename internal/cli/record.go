package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/gorxe/gorxe/internal/record"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/verbs"
)

// maxTrace is how long the file of --trace may become, in bytes.
const maxTrace = 1 << 30

// addTraceFlag is where the packets of a command are kept.
func addTraceFlag(fs *pflag.FlagSet, path *string) {
	fs.StringVar(path, "trace", "", "keep the packets, with their payload, in a `file` for 'gorxe trace' and Wireshark: pcapng, at most 1 GiB")
}

// recording is the trace of a command.
type recording struct {
	*record.Recorder
	path string
}

// record begins the trace of the command, unless it did or path is empty.
func (a *app) record(path string) error {
	if path == "" || a.recording != nil {
		return nil
	}
	r, err := record.Create(path, record.Options{
		Application: "gorxe " + buildVersion(), MaxBytes: maxTrace,
		Failed: func(err error) {
			fmt.Fprintf(a.stderr, "gorxe: --trace: %s: packets are no longer kept\n", oneLine(err))
		},
	})
	if err != nil {
		return fmt.Errorf("--trace: %w", err)
	}
	a.recording = &recording{r, path}
	return nil
}

// recorded lets the links of cfg be recorded, if the command has a trace. Faults that cfg asks for happen beyond what is seen.
func (a *app) recorded(cfg *verbs.Config, path string) error {
	if err := a.record(path); err != nil || a.recording == nil {
		return err
	}
	wrap, rec := cfg.Wrap, a.recording.Recorder
	cfg.Observer = rec.Observer()
	cfg.Wrap = func(l packet.Link) packet.Link {
		if wrap != nil {
			l = wrap(l)
		}
		return rec.Wrap("", l)
	}
	return nil
}

// endRecording ends the trace of the command, whose error is err, and says what is in it.
func (a *app) endRecording(err error) error {
	if a.recording == nil {
		return err
	}
	cerr := a.recording.Close()
	s := a.recording.Stats()
	fmt.Fprintf(a.stderr, "gorxe: %s in %s\n", plural(int(s.Frames), "packet"), a.recording.path)
	if s.Lost > 0 {
		fmt.Fprintf(a.stderr, "gorxe: %s not in it: they came faster than it could be written\n", plural(int(s.Lost), "packet"))
	}
	switch {
	case cerr != nil && errors.Is(err, context.Canceled): // the command was interrupted, as it may be
		return &finalError{fmt.Errorf("--trace: %s is not whole: %w", a.recording.path, cerr)}
	case cerr != nil:
		return &finalError{errors.Join(err, fmt.Errorf("--trace: %s is not whole: %w", a.recording.path, cerr))}
	case s.Beyond > 0:
		fmt.Fprintf(a.stderr, "gorxe: %s not in it: it is as long as it may be, 1 GiB\n", plural(int(s.Beyond), "packet"))
	}
	return err
}
