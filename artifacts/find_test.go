package artifacts_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
)

// TestTheNewestAreOnThePagesRead: in the order of GitHub and in that of Gitea,
// however many there are, with few requests.
func TestTheNewestAreOnThePagesRead(t *testing.T) {
	for _, total := range []int{0, 1, 2, 49, 50, 51, 99, 100, 101, 250, 1234} {
		for _, gitea := range []bool{false, true} {
			s := artifactstest.New(t)
			s.Manner.Bare = gitea
			var newest int64
			for run := range total {
				s.Runs[int64(run)] = artifactstest.Run{HeadRepository: artifactstest.Repository}
				newest = s.Put(artifactstest.Stored{Run: int64(run), Name: "one"})
				s.Put(artifactstest.Stored{Run: int64(run), Name: "other"})
			}
			list, err := archiveOf(t, s, &waits{}).Find(t.Context(), "one")
			if err != nil || len(list) < min(total, 50) || total > 0 && list[0].ID != newest {
				t.Errorf("%d artifacts, gitea %t: %d found, %v; want the newest, %d, first", total, gitea, len(list), err, newest)
				continue
			}
			for i := 1; i < len(list); i++ {
				if list[i].ID >= list[i-1].ID || i < min(total, 50) && list[i].ID != newest-2*int64(i) {
					t.Fatalf("%d artifacts, gitea %t: id %d follows %d", total, gitea, list[i].ID, list[i-1].ID)
				}
			}
			if n := len(s.Requests()); !gitea && n != 1 || n > 3 {
				t.Errorf("%d artifacts, gitea %t: %d requests", total, gitea, n)
			}
		}
	}
}

// TestForksFillPages: pages of nothing but forks' artifacts are turned, ten of
// them at most.
func TestForksFillPages(t *testing.T) {
	for forks, want := range map[int]int{99: 1, 100: 2, 899: 9, 1500: 10} {
		s := artifactstest.New(t)
		s.Runs[1] = artifactstest.Run{HeadRepository: artifactstest.Repository}
		own := s.Put(artifactstest.Stored{Run: 1, Name: "one"})
		for run := range forks {
			s.Runs[int64(run+2)] = artifactstest.Run{HeadRepository: 666}
			s.Put(artifactstest.Stored{Run: int64(run + 2), Name: "one"})
		}
		list, err := archiveOf(t, s, &waits{}).Find(t.Context(), "one")
		if err != nil || len(s.Requests()) != want || forks < 1000 && list[len(list)-1].ID != own {
			t.Errorf("%d forks: %d found with %d requests, %v; want %d requests and the own one last", forks, len(list), len(s.Requests()), err, want)
		}
	}
}

// TestNothingStoredYet is no error, on any service.
func TestNothingStoredYet(t *testing.T) {
	for name, behave := range map[string]func(*artifactstest.Server){
		"github": func(*artifactstest.Server) {}, "gitea": (*artifactstest.Server).AsGitea, "act": (*artifactstest.Server).AsAct,
	} {
		s := artifactstest.New(t)
		behave(s)
		w := &waits{}
		r, err := artifacts.NewRuntime(artifacts.Options{URL: s.URL, Token: artifactstest.Token(7), Act: name == "act", Sleep: w.sleep})
		if err != nil {
			t.Fatal(err)
		}
		if list, err := r.List(t.Context(), "one"); err != nil || len(list) > 0 || len(w.all) > 0 {
			t.Errorf("%s: List = %v, %v after %d waits; want nothing at once", name, list, err, len(w.all))
		}
	}
}

// TestADroppedListIsNoEmptyList where the service is not act: it would make a run
// overwrite what it can't see.
func TestADroppedListIsNoEmptyList(t *testing.T) {
	s := artifactstest.New(t)
	s.Put(artifactstest.Stored{Run: 7, Name: "one"})
	s.Fail(artifactstest.Fault{Op: "ListArtifacts", Times: 99})
	var told *artifacts.ServiceError
	if list, err := runtimeOf(t, s, 7, &waits{}, nil).List(t.Context(), "one"); !errors.As(err, &told) || told.Attempts != 5 {
		t.Errorf("List = %v, %v; want an error after five attempts", list, err)
	}
}

// TestBadAnswersAreAskedAgain: they are cut off on their way, or a proxy's.
func TestBadAnswersAreAskedAgain(t *testing.T) {
	for _, body := range []string{"", "<html>", `{"total_count":1,"artifa`, `[1]`} {
		for times, wants := range map[int]bool{4: true, 5: false} {
			s := artifactstest.New(t)
			s.Runs[1] = artifactstest.Run{ID: 1}
			s.Fail(artifactstest.Fault{Op: "actions/runs", Times: times, Status: 200, Body: body})
			_, err := archiveOf(t, s, &waits{}).Run(t.Context(), 1)
			var told *artifacts.ServiceError
			if wants != (err == nil) || !wants && (!errors.As(err, &told) || told.Status != 200 || told.Attempts != 5) {
				t.Errorf("%q %d times: %v", body, times, err)
			}
		}
	}
}

// TestErrorsOfPartsAreTheirOwn: where an address can't be had, the error says how
// that failed, once.
func TestErrorsOfPartsAreTheirOwn(t *testing.T) {
	for _, status := range []int{403, 404, 410, 503} {
		s := artifactstest.New(t)
		s.Put(artifactstest.Stored{Run: 7, Name: "one", Content: []byte("x")})
		s.Fail(artifactstest.Fault{Op: "GetSigned", Times: 99, Status: status})
		s.Fail(artifactstest.Fault{Op: "/zip", Times: 99, Status: status})
		r, a := runtimeOf(t, s, 7, &waits{}, nil), archiveOf(t, s, &waits{})
		list, err := r.List(t.Context(), "one")
		if err != nil {
			t.Fatal(err)
		}
		stored, err := a.Find(t.Context(), "one")
		if err != nil {
			t.Fatal(err)
		}
		for from, err := range map[string]error{
			"runtime": func() error { _, err := r.Download(t.Context(), list[0], 10, nil); return err }(),
			"archive": func() error { _, err := a.Download(t.Context(), stored[0], 10, nil); return err }(),
		} {
			var told *artifacts.ServiceError
			if !errors.As(err, &told) || told.Status != status || strings.Count(err.Error(), fmt.Sprint(status)) != 1 {
				t.Errorf("%s, status %d: %v", from, status, err)
			}
		}
	}
}
