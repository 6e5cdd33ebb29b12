//go:build linux

package slots_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/internal/untrusted/secrets"
	"github.com/raymond-action/raymond-action/state"
)

// transferJob is what a process stores or fetches.
type transferJob struct {
	URL   string // of the server
	Files string // the folder of what is stored
	Temp  string // an empty folder
	Key   string // "" for none
}

// transfer does what a step does with a checkpoint, with the settings of the program.
func transfer(role string) error {
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(40 << 20)
	var job transferJob
	if err := json.NewDecoder(os.Stdin).Decode(&job); err != nil {
		return err
	}
	r, err := artifacts.NewRuntime(artifacts.Options{URL: job.URL, Token: artifactstest.Token(1)})
	if err != nil {
		return err
	}
	var keys *checkpoint.Keys
	if job.Key != "" {
		if keys, err = checkpoint.ParseKeys(job.Key); err != nil {
			return err
		}
	}
	if role == roleUpload {
		return job.upload(r, keys)
	}
	return job.download(r, keys)
}

func (j *transferJob) upload(r *artifacts.Runtime, keys *checkpoint.Keys) error {
	f, err := os.Create(filepath.Join(j.Temp, "checkpoint.zip"))
	if err != nil {
		return err
	}
	defer f.Close()
	w, err := j.writing(keys)
	if err != nil {
		return err
	}
	written, err := checkpoint.Write(f, w)
	if err != nil {
		return err
	}
	s := slots.NewSlots(slots.SlotsOptions{Service: r, Key: key})
	_, err = s.Store(context.Background(), 1, slots.Content{Data: f, Size: written.Size, Digest: written.SHA256})
	return err
}

// writing is a checkpoint with all files, of a job with fifty secrets.
func (j *transferJob) writing(keys *checkpoint.Keys) (checkpoint.Writing, error) {
	values := map[string]string{}
	for i := range 50 {
		values[fmt.Sprint("TOKEN_", i)] = fmt.Sprintf("ghp_%036x", 7919*i*i+i)
	}
	mask, _ := secrets.New(values)
	w := checkpoint.Writing{Keys: keys, Mask: mask.Fill, Manifest: checkpoint.Manifest{
		RepositoryID: 1, Repository: "o/r", Workflow: ownFile, Key: key, WorkflowID: "k-12345678", Generation: 1, RunID: 1, RunAttempt: 1,
		Status: state.Suspended, Places: checkpoint.Places{Workspace: "/w", Temp: "/t", OS: "linux"}, Created: time.Now(),
	}}
	err := filepath.WalkDir(j.Files, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		w.Parts = append(w.Parts, checkpoint.Part{Name: "logs/" + d.Name(), Path: path, Size: -1})
		return nil
	})
	return w, err
}

func (j *transferJob) download(r *artifacts.Runtime, keys *checkpoint.Keys) error {
	ctx := context.Background()
	list, err := r.List(ctx, slots.Names(key)[1])
	if err != nil {
		return err
	}
	if len(list) != 1 {
		return fmt.Errorf("got %v, want one artifact", list)
	}
	f, err := os.Create(filepath.Join(j.Temp, "checkpoint.zip"))
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := r.Download(ctx, list[0], 1<<30, f)
	if err != nil {
		return err
	}
	to := filepath.Join(j.Temp, "files")
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	_, _, err = checkpoint.Read(checkpoint.Reading{File: f, Size: size, Keys: keys, Dir: to})
	return err
}
