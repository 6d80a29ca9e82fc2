package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"vcphost/internal/kv"
)

func (p *Program) backupCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "Write everything that is stored to a file, while the server runs or not",
		Long: `Write everything that is stored, as of one moment, to a file that must not exist,
or to standard output if it is "-". A server on the data directory goes on
meanwhile. The file is checked as it is written; it has what callers stored and
the hashes of the keys, so keep it as you keep the data directory.`,
		Example: `  vcphost backup vcphost.backup
  vcphost backup - | gzip > vcphost.backup.gz`,
		Args: between(1, 1),
		RunE: func(command *cobra.Command, args []string) error {
			return p.withStore(command.Context(), "backup", func(s *session) error {
				return p.backup(command.Context(), s, args[0])
			})
		},
	}
}

func (p *Program) backup(ctx context.Context, s *session, name string) error {
	if name == "-" {
		held, err := s.copyBackup(ctx, p.Stdout)
		if err != nil {
			return fmt.Errorf("back up: %w", err)
		}
		fmt.Fprintf(p.Stderr, "wrote %d entries, %d bytes\n", held.Entries, held.Bytes)
		return nil
	}
	if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("back up to %s: %w", name, errors.Join(err, fs.ErrExist))
	}
	// The file gets its name when it is whole, so that nobody takes a piece for it.
	file, err := os.CreateTemp(filepath.Dir(name), ".vcphost-backup-*") // mode 0600
	if err != nil {
		return fmt.Errorf("back up to %s: %w", name, err)
	}
	held, err := s.copyBackup(ctx, file)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return errors.Join(fmt.Errorf("back up to %s: %w", name, err), os.Remove(file.Name()))
	}
	if err := os.Rename(file.Name(), name); err != nil {
		return errors.Join(fmt.Errorf("back up to %s: %w", name, err), os.Remove(file.Name()))
	}
	return p.printText(fmt.Sprintf("wrote %s: %d entries, %d bytes", name, held.Entries, held.Bytes))
}

// copyBackup writes a backup and verifies it on the way.
func (s *session) copyBackup(ctx context.Context, to io.Writer) (kv.Restored, error) {
	from, err := s.Backup(ctx)
	if err != nil {
		return kv.Restored{}, err
	}
	defer from.Close()
	return kv.VerifyBackup(ctx, io.TeeReader(from, to))
}

func (p *Program) restoreCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "restore FILE",
		Short: "Make the store of a backup, in a data directory that has none",
		Long: `Make the store of a backup, from a file or, if it is "-", from standard input. The
data directory must have no store yet. The backup is verified from end to end
before the store is there; one that is cut off or altered leaves nothing.`,
		Example: `  vcphost restore vcphost.backup
  gunzip < vcphost.backup.gz | vcphost restore - --data /var/lib/vcphost`,
		Args: between(1, 1),
		RunE: func(command *cobra.Command, args []string) error {
			return p.restore(command.Context(), args[0])
		},
	}
}

func (p *Program) restore(ctx context.Context, name string) error {
	dir, err := p.dataDir()
	if err != nil {
		return err
	}
	from := p.Stdin
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return fmt.Errorf("restore: %w", err)
		}
		defer file.Close()
		from = file
	}
	done, err := kv.Restore(ctx, filepath.Join(dir, storeDir), from, &kv.Options{Logger: p.logger()})
	if errors.Is(err, kv.ErrNotEmpty) {
		return fmt.Errorf("the data directory %s has a store already; move it away first, with no vcphost running on it: %w", dir, err)
	}
	if err != nil {
		return err
	}
	return p.printText(fmt.Sprintf("restored %d entries, %d bytes, to %s", done.Entries, done.Bytes, dir))
}

// storeDir is the folder of the store in a data directory.
const storeDir = "store"
