package snapshot

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// childVariable names the part of TestInAChild that this process is to play.
const childVariable = "SNAPSHOT_TEST_CHILD"

// children change their process for good: limits, system call filters.
func children() map[string]func() error {
	return map[string]func() error{
		"descriptors run out":            descriptorsRunOut,
		"addresses run out":              addressesRunOut,
		"no memory files":                noMemoryFiles,
		"no scan":                        noScan,
		"a scan that ends to be allowed": scanTakenAway,
		"nothing leaks":                  nothingLeaks,
	}
}

func TestInAChild(t *testing.T) {
	if name := os.Getenv(childVariable); name != "" {
		if err := children()[name](); err != nil {
			t.Fatal(err)
		}
		return
	}
	for name := range children() {
		t.Run(name, func(t *testing.T) {
			command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestInAChild$", "-test.v")
			command.Env = append(os.Environ(), childVariable+"="+name)
			if out, err := command.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			} else if strings.Contains(string(out), "filters are refused") {
				t.Skip("system call filters are refused here")
			}
		})
	}
}

// try maps an image, and restores what is written to it, in small and in large.
func try(image *Image, content []byte) error {
	for _, capacity := range []int{len(content), 2 << 20, 64 << 20} {
		mapping, err := image.Map(uint64(capacity))
		if err != nil {
			return err
		}
		for range 3 {
			memory := mapping.Bytes()
			memory[0], memory[len(content)-1], memory[capacity-1] = 9, 9, 9
			if _, err := mapping.Restore(); err != nil {
				return err
			}
			if err := sameAs(memory, content); err != nil {
				return err
			}
		}
		if err := mapping.Unmap(); err != nil {
			return err
		}
	}
	return nil
}

func openDescriptors() (count int, err error) {
	entries, err := os.ReadDir("/proc/self/fd")
	return len(entries), err
}

func descriptorsRunOut() error {
	content := bytes.Repeat([]byte{1}, 64<<10)
	first, err := unix.Dup(0)
	if err != nil {
		return err
	}
	if err := unix.Close(first); err != nil {
		return err
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	whole := limit
	defer func() { _ = unix.Setrlimit(unix.RLIMIT_NOFILE, &whole) }() // what ends the process opens files
	for free := range 3 {
		limit.Cur = uint64(first + free)
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
			return err
		}
		image, err := NewImage(content, nil)
		if err == nil {
			if err := errors.Join(try(image, content), image.Close()); err != nil {
				return err
			}
		}
		enough := 2
		if err == nil && image.Method() == Discard {
			enough = 1
		}
		if free < enough && !errors.Is(err, unix.EMFILE) || free >= enough && err != nil {
			return fmt.Errorf("with %d descriptors free: %w", free, err)
		}
	}
	return nil
}

func addressesRunOut() error {
	content := bytes.Repeat([]byte{1}, 64<<10)
	image, err := NewImage(content, nil)
	if err != nil {
		return err
	}
	size, err := status("VmSize:")
	if err != nil {
		return err
	}
	const spare = 512 << 20
	limit := unix.Rlimit{Cur: size + spare, Max: size + spare}
	if err := unix.Setrlimit(unix.RLIMIT_AS, &limit); err != nil {
		return err
	}
	for range 100 {
		if _, err := image.Map(1 << 30); !errors.Is(err, unix.ENOMEM) {
			return fmt.Errorf("more than there is was mapped: %w", err)
		}
	}
	return errors.Join(try(image, content), image.Close())
}

// status reads a figure of this process, in bytes.
func status(name string) (uint64, error) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), name)
	var kib uint64
	_, err = fmt.Sscan(rest, &kib)
	return kib << 10, err
}

// forbid makes one system call fail from here on, in every thread; second is its
// second argument, 0 for any.
func forbid(call uint32, second uint32, errno unix.Errno) error {
	const (
		load, equal, answer = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, unix.BPF_RET | unix.BPF_K
		numberAt, secondAt  = 0, 24 // in struct seccomp_data, the low half first
	)
	program := []unix.SockFilter{
		{Code: load, K: numberAt},
		{Code: equal, K: call, Jf: 3},
		{Code: load, K: secondAt},
		{Code: equal, K: second, Jf: 1},
		{Code: answer, K: unix.SECCOMP_RET_ERRNO | uint32(errno)},
		{Code: answer, K: unix.SECCOMP_RET_ALLOW},
	}
	if second == 0 {
		program[3] = unix.SockFilter{Code: equal, K: second}
	}
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	_, _, failed := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&filter)))
	if failed != 0 {
		fmt.Println("filters are refused:", failed)
		return failed
	}
	return nil
}

func noMemoryFiles() error {
	if forbid(unix.SYS_MEMFD_CREATE, 0, unix.EPERM) != nil {
		return nil
	}
	return expect(Copy)
}

func noScan() error {
	if forbid(unix.SYS_IOCTL, pagemapScan, unix.EPERM) != nil {
		return nil
	}
	return expect(Discard)
}

// expect makes an image and looks which method it found.
func expect(method Method) error {
	before, err := openDescriptors()
	if err != nil {
		return err
	}
	content := bytes.Repeat([]byte{1}, 64<<10)
	image, err := NewImage(content, nil)
	if err != nil {
		return err
	}
	if image.Method() != method {
		return fmt.Errorf("the method is %s", image.Method())
	}
	if err := errors.Join(try(image, content), image.Close()); err != nil {
		return err
	}
	if after, err := openDescriptors(); err != nil || after != before {
		return fmt.Errorf("%d descriptors, there were %d: %w", after, before, err)
	}
	return nil
}

func scanTakenAway() error {
	content := bytes.Repeat([]byte{1}, 64<<10)
	image, err := NewImage(content, nil)
	if err != nil || image.Method() != Scan {
		return err
	}
	if forbid(unix.SYS_IOCTL, pagemapScan, unix.EINVAL) != nil {
		return nil
	}
	return errors.Join(try(image, content), image.Close())
}

// held is what a process holds of things that leak.
type held struct {
	descriptors          int
	mappings, images     int // images: mappings of memory files
	addresses, anonymous uint64
}

func holds() (h held, err error) {
	runtime.GC()
	debug.FreeOSMemory()
	if h.descriptors, err = openDescriptors(); err != nil {
		return h, err
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return h, err
	}
	h.mappings, h.images = bytes.Count(maps, []byte("\n")), bytes.Count(maps, []byte(imageName))
	if h.addresses, err = status("VmSize:"); err != nil {
		return h, err
	}
	h.anonymous, err = status("RssAnon:")
	return h, err
}

func nothingLeaks() error {
	var before held
	for round := range 11_000 {
		if round == 1000 {
			var err error
			if before, err = holds(); err != nil {
				return err
			}
		}
		content := bytes.Repeat([]byte{byte(round), 1}, 16<<10+round)
		image, err := NewImage(content, &Options{Method: Method(round % 4)})
		if errors.Is(err, errUseless) {
			continue
		}
		if err != nil {
			return err
		}
		mapping, err := image.Map(uint64([]int{128 << 10, 64 << 20}[round/4%2]))
		if err != nil {
			return err
		}
		for range 2 {
			mapping.Bytes()[0], mapping.Bytes()[100_000] = 1, 1
			if _, err := mapping.Restore(); err != nil {
				return err
			}
		}
		ends := []func() error{image.Close, mapping.Unmap}
		if err := errors.Join(ends[round%2](), ends[1-round%2]()); err != nil {
			return err
		}
	}
	after, err := holds()
	if err != nil {
		return err
	}
	// The room is for Go's own heap, and under the race detector for its shadow; a
	// page or a mapping lost in each cycle would be 40 MiB or 10,000.
	if after.descriptors != before.descriptors || after.images != 0 || after.mappings > before.mappings+32 ||
		after.addresses > before.addresses+192<<20 || after.anonymous > before.anonymous*11/10+8<<20 {
		return fmt.Errorf("%+v, after 10,000 cycles %+v", before, after)
	}
	fmt.Printf("%+v, after 10,000 cycles %+v\n", before, after)
	return nil
}
