// Command tracebench measures 'gorxe trace' beside tshark on a generated capture, and its memory:
//
//	go run ./tools/tracebench -gorxe bin/gorxe
//
// Both read the same file, in turn, so that the ratios do not depend on the machine. The
// maximum resident set is that of one process. tshark is left out if it is not installed. The
// generated files are removed.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	gorxe := flag.String("gorxe", "bin/gorxe", "the program")
	size := flag.String("size", "1G", "size of the capture that tshark reads, too")
	large := flag.String("large", "10G", "size of the capture whose memory is measured; 0: none")
	qps := flag.Int("qps", 10000, "connections in the captures")
	rounds := flag.Int("rounds", 3, "measurements of each command")
	dir := flag.String("dir", os.TempDir(), "directory for the captures")
	flag.Parse()
	if err := run(*gorxe, *size, *large, *dir, *qps, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "tracebench:", err)
		os.Exit(1)
	}
}

func run(gorxe, size, large, dir string, qps, rounds int) error {
	dir, err := os.MkdirTemp(dir, "tracebench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "capture.pcap")
	if err := generate(file, size, qps, 1); err != nil {
		return err
	}
	fmt.Printf("%s, %d connections, %s, %d processors\n", size, qps, processor(), runtime.NumCPU())
	if err := beside(gorxe, file, rounds); err != nil {
		return err
	}
	if large == "0" {
		return nil
	}
	other := filepath.Join(dir, "other.pcap")
	for seed, f := range []string{file, other} {
		if err := generate(f, large, qps, 1+seed); err != nil {
			return err
		}
	}
	fmt.Printf("\n%s, %d connections\n", large, qps)
	for _, args := range [][]string{{file}, {"--flows", file}, {"--summary", file}, {"--series", file},
		{"--join", file, other}} {
		m, err := measure(gorxe, append([]string{"trace"}, args...)...)
		if err != nil {
			return err
		}
		fmt.Printf("  %-12s %7.1f s  %6.1f MiB\n", mode(args), m.seconds, m.mebibytes)
	}
	return nil
}

// mode returns the first argument without its dashes, "text" if it is no flag.
func mode(args []string) string {
	if flag, ok := strings.CutPrefix(args[0], "--"); ok {
		return flag
	}
	return "text"
}

// beside measures the outputs of gorxe beside tshark.
func beside(gorxe, file string, rounds int) error {
	commands := []struct {
		name string
		args []string
	}{
		{"text", []string{gorxe, "trace", file}},
		{"flows", []string{gorxe, "trace", "--flows", file}},
		{"summary", []string{gorxe, "trace", "--summary", file}},
		{"tshark", []string{"tshark", "-n", "-r", file}},
	}
	if _, err := exec.LookPath("tshark"); err != nil {
		fmt.Println("  tshark is not installed: no ratios")
		commands = commands[:3]
	}
	all := make([][]measurement, len(commands))
	for range rounds {
		for i, c := range commands {
			m, err := measure(c.args[0], c.args[1:]...)
			if err != nil {
				return err
			}
			all[i] = append(all[i], m)
		}
	}
	for i, c := range commands {
		best := slices.MinFunc(all[i], func(x, y measurement) int { return int((x.seconds - y.seconds) * 1e6) })
		fmt.Printf("  %-12s %7.2f s  %6.1f MiB", c.name, best.seconds, best.mebibytes)
		if len(commands) > 3 && i < 3 {
			var ratios []float64
			for n := range rounds {
				ratios = append(ratios, all[3][n].seconds/all[i][n].seconds)
			}
			slices.Sort(ratios)
			fmt.Printf("  tshark takes %.1f x (%.1f to %.1f)", ratios[len(ratios)/2], ratios[0], ratios[len(ratios)-1])
		}
		fmt.Println()
	}
	return nil
}

// generate writes a capture.
func generate(file, size string, qps, seed int) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	c := exec.Command("go", "run", "./tools/tracegen", "-size", size, "-qps", fmt.Sprint(qps), "-loss", "1e-4",
		"-ce", "1e-4", "-seed", fmt.Sprint(seed))
	c.Stdout, c.Stderr = f, os.Stderr
	return errors.Join(c.Run(), f.Close())
}

type measurement struct{ seconds, mebibytes float64 }

// measure runs a command without its output.
func measure(name string, args ...string) (measurement, error) {
	c := exec.Command(name, args...)
	var errs strings.Builder
	c.Stderr = &errs // standard output is /dev/null
	begin := time.Now()
	if err := c.Run(); err != nil {
		return measurement{}, fmt.Errorf("%s: %w: %s", c, err, errs.String())
	}
	m := measurement{seconds: time.Since(begin).Seconds()}
	if u, ok := c.ProcessState.SysUsage().(*syscall.Rusage); ok {
		m.mebibytes = float64(u.Maxrss) / 1024 // Linux counts KiB
	}
	return m, nil
}

// processor returns the model of the processor.
func processor() string {
	b, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(b)) {
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			return strings.TrimSpace(strings.TrimLeft(name, "\t :"))
		}
	}
	return runtime.GOARCH
}
