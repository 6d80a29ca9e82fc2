package hostfunc

// Errno is what a host function answers when it did not do what it was asked.
// The numbers are part of the guest ABI and never change.
type Errno int32

// The error numbers of guest ABI 1.
const (
	OK        Errno = 0
	EPERM     Errno = -1  // not granted
	ENOENT    Errno = -2  // no such thing
	EFAULT    Errno = -3  // pointer outside memory
	EINVAL    Errno = -4  // the argument is malformed
	EBADF     Errno = -5  // no such handle
	ELIMIT    Errno = -6  // a limit of the manifest
	ENOSPC    Errno = -7  // the host has no room
	EIO       Errno = -8  // the host failed
	ECANCELED Errno = -9  // the call was cancelled or its deadline passed
	ENOSYS    Errno = -10 // a known name that this host does not serve
)
