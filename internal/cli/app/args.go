package app

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagProblem rewrites an error of pflag in the terms of the command line.
func flagProblem(err error) string {
	var value *pflag.InvalidValueError
	var missing *pflag.ValueRequiredError
	switch {
	case errors.As(err, &value):
		f := value.GetFlag()
		if _, ok := f.Value.(interface{ Explains() }); ok {
			return flagName(f) + ": " + value.Unwrap().Error()
		}
		what := "a " + f.Value.Type()
		if strings.Contains(f.Value.Type(), "int") {
			what = "a number in range"
		} else if strings.HasPrefix(f.Value.Type(), "float") {
			what = "a number"
		}
		return fmt.Sprintf("%s %q is not %s", flagName(f), value.GetValue(), what)
	case errors.As(err, &missing):
		return flagName(missing.GetFlag()) + " needs a value"
	}
	return err.Error()
}

// flagName returns the name of a flag for messages: its letter, if it has one.
func flagName(f *pflag.Flag) string {
	if f.Shorthand != "" {
		return "-" + f.Shorthand
	}
	return "--" + f.Name
}

// NoArgs rejects arguments. On a command with subcommands it reports the argument as an unknown
// command.
func NoArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if !c.HasSubCommands() {
		return Usagef("%s takes no argument, got %q", c.CommandPath(), args[0])
	}
	return noSuchCommand(c, args[0])
}

// noSuchCommand returns the error for a command that c does not have.
func noSuchCommand(c *cobra.Command, name string) error {
	hint := ""
	c.SuggestionsMinimumDistance = 2
	if s := c.SuggestionsFor(name); len(s) > 0 {
		hint = fmt.Sprintf(", did you mean %q?", s[0])
	}
	return Usagef("there is no command %q in %s%s; see '%s --help'", name, c.CommandPath(), hint, c.CommandPath())
}

// OptionalHost accepts at most one argument, the host to connect to.
func OptionalHost(c *cobra.Command, args []string) error {
	if len(args) > 1 {
		return Usagef("%s takes one host; unexpected argument %q", c.CommandPath(), args[1])
	}
	return nil
}

// HostArg returns the first argument, a host, or "" if there is none.
func HostArg(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}
