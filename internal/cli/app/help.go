package app

import "github.com/spf13/cobra"

// helpCommand returns 'gorxe help', which prints the same as --help of a command.
func helpCommand() *cobra.Command {
	find := func(c *cobra.Command, args []string) *cobra.Command {
		found, rest, err := c.Root().Find(args)
		if err != nil || len(rest) > 0 {
			return nil
		}
		return found
	}
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Print what a command does, and its flags",
		RunE: func(c *cobra.Command, args []string) error {
			about := c.Root()
			for i := range args {
				next := find(c, args[:i+1])
				if next == nil {
					return noSuchCommand(about, args[i])
				}
				about = next
			}
			about.InitDefaultHelpFlag()
			if about == c.Root() {
				about.InitDefaultVersionFlag()
			}
			return about.Help()
		},
		ValidArgsFunction: func(c *cobra.Command, args []string, _ string) (names []cobra.Completion,
			_ cobra.ShellCompDirective) {
			if about := find(c, args); about != nil {
				for _, sub := range about.Commands() {
					if sub.IsAvailableCommand() {
						names = append(names, cobra.CompletionWithDesc(sub.Name(), sub.Short))
					}
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
}
