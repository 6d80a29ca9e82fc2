package kv

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
)

// The form of a backup, version 1. Badger's own is not used: it reads key ranges
// at different moments, so a row and what it refers to may not fit together, and
// it cannot tell that its end is missing.
//
//	"vcphost-backup 1 store 1\n"      versions of this form and of the store
//	(uvarint, key, uvarint, value)…   lengths before bytes; keys ascend
//	0x00, uvarint                     the end, and how many entries there were
//	32 bytes                          SHA-256 of all bytes before
const (
	backupForm   = 1
	backupHeader = "vcphost-backup %d store %d\n"
	// maxHeaderBytes is longer than every header, so that a file of something else
	// is not searched for the end of its first line.
	maxHeaderBytes = 64
	backupBuffer   = 256 << 10
)

// backupWriter counts and hashes what it writes.
type backupWriter struct {
	out   *bufio.Writer
	sum   hash.Hash
	count uint64
	sizes [2 * binary.MaxVarintLen64]byte
}

// Backup writes everything in the store as of one moment to w, while the store is
// in use; what is written to the store meanwhile is not part of it. The store
// cannot give space back that the moment needs, so w should not dawdle. It uses
// memory for one value and a buffer. Writing ends with an error soon after ctx
// does. Whoever keeps the backup must see Backup return nil, or must let [Restore]
// find out that the end is missing.
func Backup(ctx context.Context, db DB, w io.Writer) error {
	if _, err := backup(ctx, db, fmt.Sprintf(backupHeader, backupForm, storeFormat), w); err != nil {
		return fmt.Errorf("back up the store: %w", err)
	}
	return nil
}

// VerifyBackup reads a backup from end to end and tells what it holds, or why
// [Restore] would refuse it. r is read to its end.
func VerifyBackup(ctx context.Context, r io.Reader) (Restored, error) {
	b, err := newBackupReader(r)
	if err != nil {
		return Restored{}, fmt.Errorf("verify the backup: %w", err)
	}
	memory := make([]byte, 0, MaxBatchBytes)
	for {
		_, _, more, err := b.next(memory)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return Restored{}, fmt.Errorf("verify the backup: %w", err)
		}
		if !more {
			return Restored{Entries: b.count, Bytes: b.bytes}, nil
		}
	}
}

// backup writes a backup that begins with header and returns its SHA-256.
func backup(ctx context.Context, db DB, header string, w io.Writer) ([]byte, error) {
	sum := sha256.New()
	b := &backupWriter{out: bufio.NewWriterSize(io.MultiWriter(sum, w), backupBuffer), sum: sum}
	_, err := b.out.WriteString(header)
	scanned := db.Scan(nil, func(key, value []byte) bool {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = b.entry(key, value)
		}
		return err == nil
	})
	if err := errors.Join(scanned, err); err != nil {
		return nil, err
	}
	return b.end(w)
}

func (b *backupWriter) entry(key, value []byte) error {
	b.count++
	_, _ = b.out.Write(binary.AppendUvarint(b.sizes[:0], uint64(len(key)))) // the last write tells of all
	_, _ = b.out.Write(key)
	_, _ = b.out.Write(binary.AppendUvarint(b.sizes[:0], uint64(len(value))))
	_, err := b.out.Write(value)
	return err
}

func (b *backupWriter) end(w io.Writer) ([]byte, error) {
	_, _ = b.out.Write(binary.AppendUvarint(append(b.sizes[:0], 0), b.count)) // Flush tells
	if err := b.out.Flush(); err != nil {
		return nil, err
	}
	digest := b.sum.Sum(nil)
	if _, err := w.Write(digest); err != nil {
		return nil, err
	}
	return digest, nil
}

// backupReader reads a backup and hashes what it reads.
type backupReader struct {
	in     *bufio.Reader
	sum    hash.Hash
	header string
	count  uint64
	bytes  int64
	last   []byte // key of the entry before
}

// newBackupReader reads the header.
func newBackupReader(r io.Reader) (*backupReader, error) {
	b := &backupReader{in: bufio.NewReaderSize(r, backupBuffer), sum: sha256.New()}
	for !bytes.HasSuffix([]byte(b.header), []byte("\n")) {
		c, err := b.readByte()
		if err != nil {
			return nil, err
		}
		if b.header += string(c); len(b.header) > maxHeaderBytes {
			return nil, fmt.Errorf("%w: it does not begin like one", ErrBadBackup)
		}
	}
	var form, store int
	if n, err := fmt.Sscanf(b.header, backupHeader, &form, &store); n != 2 || err != nil || b.header != fmt.Sprintf(backupHeader, form, store) {
		return nil, fmt.Errorf("%w: it does not begin like one", ErrBadBackup)
	}
	if form > backupForm || store > storeFormat {
		return nil, fmt.Errorf("the backup has form %d of a store of format version %d: %w, which knows form %d and version %d",
			form, store, ErrNewerFormat, backupForm, storeFormat)
	}
	return b, nil
}

func (b *backupReader) readByte() (byte, error) {
	c, err := b.in.ReadByte()
	if err != nil {
		return 0, cutOff(err)
	}
	_, _ = b.sum.Write([]byte{c}) // a hash does not fail
	b.bytes++
	return c, nil
}

// uvarint reads a number; binary.ReadUvarint has an error for an overlong one
// that cannot be told from the reader's own.
func (b *backupReader) uvarint() (uint64, error) {
	n := uint64(0)
	for shift := 0; shift < 64; shift += 7 {
		c, err := b.readByte()
		if err != nil {
			return 0, err
		}
		if n |= uint64(c&0x7f) << shift; c < 0x80 {
			return n, nil
		}
	}
	return 0, fmt.Errorf("%w: there is no number at byte %d", ErrBadBackup, b.bytes)
}

func (b *backupReader) fill(p []byte) error {
	n, err := io.ReadFull(b.in, p)
	_, _ = b.sum.Write(p[:n])
	b.bytes += int64(n)
	return cutOff(err)
}

// length reads a length that is at most the given one, so that a damaged one
// does not become memory.
func (b *backupReader) length(most int) (int, error) {
	n, err := b.uvarint()
	if err != nil {
		return 0, err
	}
	if n > uint64(most) {
		return 0, fmt.Errorf("%w: a length of %d at byte %d is too much", ErrBadBackup, n, b.bytes)
	}
	return int(n), nil
}

// next reads an entry behind buf, and returns false at the end of the backup,
// whose digest it has checked then.
func (b *backupReader) next(buf []byte) (key, value []byte, more bool, err error) {
	n, err := b.length(MaxKeyBytes)
	if err != nil {
		return nil, nil, false, err
	}
	if n == 0 {
		return nil, nil, false, b.end()
	}
	key = buf[len(buf) : len(buf)+n]
	if err := b.fill(key); err != nil {
		return nil, nil, false, err
	}
	if b.count > 0 && bytes.Compare(b.last, key) >= 0 {
		return nil, nil, false, fmt.Errorf("%w: the keys are out of order at byte %d", ErrBadBackup, b.bytes)
	}
	b.last = append(b.last[:0], key...)
	b.count++
	size, err := b.length(MaxBatchBytes - n)
	if err != nil {
		return nil, nil, false, err
	}
	from := len(buf) + n
	value = buf[from : from+size]
	return key, value, true, b.fill(value)
}

func (b *backupReader) end() error {
	count, err := b.uvarint()
	if err != nil {
		return err
	}
	if count != b.count {
		return fmt.Errorf("%w: %d entries were written and %d are there", ErrBadBackup, count, b.count)
	}
	want := make([]byte, sha256.Size)
	got := b.sum.Sum(nil)
	if _, err := io.ReadFull(b.in, want); err != nil {
		return cutOff(err)
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("%w: its SHA-256 is another", ErrBadBackup)
	}
	switch _, err := b.in.ReadByte(); {
	case err == nil:
		return fmt.Errorf("%w: something follows its end", ErrBadBackup)
	case !errors.Is(err, io.EOF):
		return err
	}
	return nil
}

// cutOff makes the early end of a file the fault of the backup; another error of
// reading stays itself.
func cutOff(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: its end is missing", ErrBadBackup)
	}
	return err
}
