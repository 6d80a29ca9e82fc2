package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"vcphost/host"
)

// Exit statuses.
const (
	exitOK       = 0 // a result of status success, partial or accepted
	exitResult   = 1 // any other result; of healthcheck: the server does not live; of config: the settings are wrong
	exitNoResult = 2 // no result: bad flags, an unreadable file, the data directory
)

// Program is one run of the command, shaped like exec.Cmd so that tests run the
// real thing.
type Program struct {
	Args           []string // without the program's name
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	LookupEnv      func(string) (string, bool)
	Environ        []string // the whole environment; nil means that LookupEnv is all there is
	Bundled        fs.FS    // plugins that come with the program; nil means none
	Compile        []string // argv of a process that compiles a module; nil compiles in this one

	kinds    map[string]host.Kind // transports beside those of the program, by entryPoint.type; for tests
	settings settings
	serving  *serving     // of serve; nil for the other verbs
	log      *slog.Logger // of serve; nil means that of the other verbs
	status   int
}

// settings are the flags that every verb has.
type settings struct {
	plugins []string
	trust   []string
	data    string
	verbose bool
}

// Run parses the arguments, does what they ask, and returns the exit status. It
// prints at most one line for an error that is no result.
func (p *Program) Run(ctx context.Context) int {
	root := p.command()
	root.SetArgs(append([]string{}, p.Args...)) // nil would mean those of the process
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintf(p.Stderr, "vcphost: %s\n", printable(oneLine(err)))
		return exitNoResult
	}
	return p.status
}

func oneLine(err error) string {
	return strings.Join(strings.Fields(err.Error()), " ")
}

func (p *Program) command() *cobra.Command {
	root := &cobra.Command{
		Use:           "vcphost",
		Short:         "Run untrusted AI-tool plugins in a WebAssembly sandbox",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(p.Stdin)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	flags := root.PersistentFlags()
	flags.StringArrayVar(&p.settings.plugins, "plugins", nil, "directory of plugin folders, beside the bundled ones; repeatable (default $VCPHOST_PLUGINS, else ./plugins if it exists)")
	flags.StringArrayVar(&p.settings.trust, "trust", nil, "grant what the plugins at or below this directory ask for, in this process only; repeatable")
	flags.StringVar(&p.settings.data, "data", "", "directory of the store and caches (default $VCPHOST_DATA, else the platform's state directory)")
	flags.BoolVarP(&p.settings.verbose, "verbose", "v", false, "log everything, also what plugins log for debugging")
	root.AddCommand(
		p.callCommand(), p.pluginCommand(), p.resourceCommand(), p.resultCommand(),
		p.serveCommand(), p.keyCommand(), p.healthcheckCommand(), p.versionCommand(),
		p.configCommand(), p.backupCommand(), p.restoreCommand(), p.doctorCommand(), p.compileCommand(),
	)
	if err := completeFlags(root, p.completions()); err != nil {
		panic(err) // two flags of one name, which cobra refuses as well
	}
	return root
}

// group is a command that only has commands below it. Cobra by itself prints
// its help, and exits with 0, for one that does not exist.
func group(use, short string) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, DisableFlagsInUseLine: true,
		RunE: func(command *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("unknown command %q for %q", args[0], command.CommandPath())
			}
			return command.Help()
		},
	}
}

// logger writes to standard error, so that standard output holds results only.
func (p *Program) logger() *slog.Logger {
	if p.log != nil {
		return p.log
	}
	level := slog.LevelWarn
	if p.settings.verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(p.Stderr, &slog.HandlerOptions{Level: level}))
}

// dataDir is where this process keeps its store and caches.
func (p *Program) dataDir() (string, error) {
	if p.settings.data != "" {
		return p.settings.data, nil
	}
	if dir, ok := p.LookupEnv("VCPHOST_DATA"); ok && dir != "" {
		return dir, nil
	}
	dir, err := stateDir(p.LookupEnv)
	if err != nil {
		return "", fmt.Errorf("no --data given: %w", err)
	}
	return dir, nil
}

// givenPluginDirs lists the directories of plugin folders that somebody named.
func (p *Program) givenPluginDirs() []string {
	if len(p.settings.plugins) > 0 {
		return p.settings.plugins
	}
	if list, ok := p.LookupEnv("VCPHOST_PLUGINS"); ok && list != "" {
		return strings.Split(list, string(os.PathListSeparator))
	}
	return nil
}

// pluginDirs lists the directories of plugin folders.
func (p *Program) pluginDirs() []string {
	if given := p.givenPluginDirs(); len(given) > 0 {
		return given
	}
	if info, err := os.Stat("plugins"); err == nil && info.IsDir() {
		return []string{"plugins"}
	}
	return nil
}

// errUsage: the command line itself is wrong.
var errUsage = errors.New("see --help")

func usage(format string, args ...any) error {
	return fmt.Errorf("%s; %w", fmt.Sprintf(format, args...), errUsage)
}
