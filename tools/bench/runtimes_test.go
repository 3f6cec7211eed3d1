package bench

import (
	"context"
	"os/exec"
	"testing"
	"time"
)

func TestProgramsAreStartedAtLeastSomeTimes(t *testing.T) {
	for _, name := range []string{"true", "false"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%s is not installed", name)
		}
	}
	s, err := TimeRuns(t.Context(), []string{"true"}, 0, false)
	if err != nil || s.Count != minRuns || s.Median <= 0 {
		t.Errorf("%+v, %v", s, err)
	}
	s, err = TimeRuns(t.Context(), []string{"true"}, 50*time.Millisecond, false)
	if err != nil || s.Count < minRuns {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := TimeRuns(t.Context(), []string{"false"}, 0, true); err != nil || s.Count != minRuns {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestAProgramThatFailsHasNoTime(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	for _, tt := range []struct {
		ctx  context.Context
		argv string
		any  bool
	}{{t.Context(), "false", false}, {t.Context(), "/nowhere/program", true}, {ended, "true", true}} {
		if s, err := TimeRuns(tt.ctx, []string{tt.argv}, 0, tt.any); err == nil {
			t.Errorf("%s: %+v", tt.argv, s)
		}
	}
}
