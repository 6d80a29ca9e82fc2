package resources

// Room returns an *abi.Error, DEPENDENCY_UNAVAILABLE, while the disk is too full
// to store anything, so that a call is not begun whose outcome nobody could keep.
// It is cheap.
func (s *Store) Room() error {
	if err := s.db.Room(); err != nil {
		return storeError("find room", err)
	}
	return nil
}
