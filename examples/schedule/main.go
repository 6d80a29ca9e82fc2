// Command schedule is the example plugin ScheduleManager (VCP Tool Result
// Protocol 1.0 §13.4): appointments that are added, listed and deleted, kept in
// the plugin's key-value store.
//
// The store holds one value:
//
//	schedules/v1 = [{"id":"sch_…","time":"2026-07-12T10:00:00+08:00","content":"…"}, …]
//
// in no particular order. Members may be added; a reader ignores those that it
// does not know, and a change of meaning takes another key.
package main

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	guest "vcphost/abi/guest/go"
)

var plugin = guest.Export(
	guest.Handle("AddSchedule", addSchedule),
	guest.Handle("ListSchedules", listSchedules),
	guest.Handle("DeleteSchedule", deleteSchedule),
)

func main() {} // a reactor: its commands are called, it does not run

const (
	schedulesKey = "schedules/v1"
	maxSchedules = 1000
)

// schedule is one appointment, in the store and in data alike. Time keeps the
// offset that the caller wrote.
type schedule struct {
	ID      string `json:"id"`
	Time    string `json:"time"`
	Content string `json:"content"`
}

type addArgs struct {
	Time    string `json:"time"`
	Content string `json:"content"`
}

// change is the data of a command that changed one schedule.
type change struct {
	Operation string   `json:"operation"`
	Schedule  schedule `json:"schedule"`
}

func addSchedule(c *guest.Call, args addArgs) (change, error) {
	at, err := time.Parse(time.RFC3339, args.Time)
	if err != nil {
		return change{}, guest.Errorf("INVALID_ARGUMENT", "time is not a date and time with a zone: %q", args.Time).
			WithTarget("time").WithDetails(map[string]string{"expected": "RFC 3339"})
	}
	content := strings.TrimSpace(args.Content)
	if content == "" {
		return change{}, guest.Errorf("INVALID_ARGUMENT", "content is empty").WithTarget("content")
	}
	all, err := load(c.KV())
	if err != nil {
		return change{}, err
	}
	if len(all) >= maxSchedules {
		return change{}, guest.Errorf("SCHEDULE.TOO_MANY", "there are already %d schedules; delete some first", len(all)).
			WithDetails(map[string]int{"limit": maxSchedules})
	}
	added := schedule{ID: "sch_" + rand.Text(), Time: at.Format(time.RFC3339Nano), Content: content}
	if err := store(c.KV(), append(all, added)); err != nil {
		return change{}, err
	}
	c.Summary("日程已添加")
	c.View("schedule-card")
	return change{Operation: "created", Schedule: added}, nil
}

// list is the data of ListSchedules, earliest first.
type list struct {
	Schedules []schedule `json:"schedules"`
	Total     int        `json:"total"`
}

func listSchedules(c *guest.Call, _ struct{}) (list, error) {
	all, err := load(c.KV())
	if err != nil {
		return list{}, err
	}
	slices.SortStableFunc(all, func(a, b schedule) int {
		return cmp.Or(instant(a).Compare(instant(b)), cmp.Compare(a.ID, b.ID))
	})
	c.Summary(fmt.Sprintf("共 %d 项日程", len(all)))
	if len(all) == 0 {
		c.Summary("当前没有日程")
	}
	c.View("schedule-list")
	return list{Schedules: all, Total: len(all)}, nil
}

// instant orders schedules by what the clock says everywhere, not by their
// text: 10:00+08:00 is earlier than 09:00Z.
func instant(s schedule) time.Time {
	t, err := time.Parse(time.RFC3339, s.Time)
	if err != nil {
		return time.Time{} // load has refused it
	}
	return t
}

type deleteArgs struct {
	ID string `json:"id"`
}

func deleteSchedule(c *guest.Call, args deleteArgs) (change, error) {
	all, err := load(c.KV())
	if err != nil {
		return change{}, err
	}
	i := slices.IndexFunc(all, func(s schedule) bool { return s.ID == args.ID })
	if i < 0 {
		return change{}, guest.Errorf("SCHEDULE.NOT_FOUND", "there is no schedule %q", args.ID).WithTarget("id")
	}
	deleted := all[i]
	if err := store(c.KV(), slices.Delete(all, i, i+1)); err != nil {
		return change{}, err
	}
	c.Summary("日程已删除")
	c.View("schedule-card")
	return change{Operation: "deleted", Schedule: deleted}, nil
}

func load(kv guest.KV) ([]schedule, error) {
	all := []schedule{}
	raw, err := kv.Get(schedulesKey)
	if errors.Is(err, guest.ErrNotFound) {
		return all, nil
	}
	if err != nil {
		return nil, fmt.Errorf("load schedules: %w", err)
	}
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, fmt.Errorf("load schedules: the stored value is damaged: %w", err)
	}
	for _, s := range all {
		if _, err := time.Parse(time.RFC3339, s.Time); err != nil {
			return nil, fmt.Errorf("load schedules: the stored value is damaged: %w", err)
		}
	}
	return all, nil
}

func store(kv guest.KV, all []schedule) error {
	raw, err := json.Marshal(all)
	if err != nil {
		return fmt.Errorf("store schedules: %w", err)
	}
	err = kv.Set(schedulesKey, raw)
	if errors.Is(err, guest.ErrLimit) || errors.Is(err, guest.ErrNoSpace) {
		return guest.Errorf("SCHEDULE.STORE_FULL", "the store is full; delete some schedules first: %w", err)
	}
	if err != nil {
		return fmt.Errorf("store schedules: %w", err)
	}
	return nil
}
