package app

import (
	"net"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/links"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagValues holds the completions of flags, by flag name.
var flagValues = map[string]func() []cobra.Completion{
	"ib-dev":     deviceNames,
	"interface":  deviceNames,
	"device":     deviceNames,
	"link":       links.Kinds,
	"mtu":        mtuNames,
	"log-level":  logLevels,
	"port-space": func() []cobra.Completion { return []cobra.Completion{"tcp", "udp"} },
	"connection": func() []cobra.Completion { return []cobra.Completion{"RC", "UC", "UD"} },
}

// takesFiles holds the commands whose arguments are files.
var takesFiles = map[string]bool{"trace": true, "write": true}

func deviceNames() (names []cobra.Completion) {
	ifs, err := net.Interfaces()
	if err != nil {
		return nil
	}
	for _, i := range ifs {
		if addrs, _, _, err := packet.HostAddrs(i.Name); err == nil {
			names = append(names, cobra.CompletionWithDesc(i.Name, addrs[0].String()))
		}
	}
	return names
}

func mtuNames() []cobra.Completion {
	return []cobra.Completion{"256", "512", "1024", "2048", "4096"}
}

func logLevels() []cobra.Completion { return []cobra.Completion{"debug", "info", "warn", "error"} }

// addCompletions registers the known completions for c and all its subcommands.
func addCompletions(c *cobra.Command) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if values := flagValues[f.Name]; values != nil {
			// The only possible error is that the flag already has a completion function.
			_ = c.RegisterFlagCompletionFunc(f.Name, FixedCompletions(values))
		}
	})
	switch {
	case c.ValidArgsFunction != nil || takesFiles[c.Name()]:
	case c.Name() == "loglevel":
		c.ValidArgsFunction = FixedCompletions(logLevels)
	default:
		c.ValidArgsFunction = cobra.NoFileCompletions
	}
	for _, sub := range c.Commands() {
		addCompletions(sub)
	}
}

// FixedCompletions returns a completion function that always offers values.
func FixedCompletions(values func() []cobra.Completion) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return values(), cobra.ShellCompDirectiveNoFileComp
	}
}
