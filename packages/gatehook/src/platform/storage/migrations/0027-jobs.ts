/**
 * Jobs of the team's code.
 *
 * - `kind`: `job` (enqueued by code), `event` (handles an event), `schedule` (a recurring job).
 * - `state`: `waiting`, `running`, `done`, `failed`. A node runs the job: `node` identifies the run
 *   of its process, and it increments `beat` while it runs the job.
 * - `row_key`: jobs with the same key run one after the other, in the order of `no`.
 * - `schedule`: the name of a recurring job in the row of its next run, so that there is one.
 */
export const jobs = `
CREATE TABLE gh_jobs (
  no {serial},
  id {text} NOT NULL,
  kind {text} NOT NULL,
  name {text} NOT NULL,
  scope {int},
  input {text} NOT NULL,
  state {text} NOT NULL DEFAULT 'waiting',
  run_at {int} NOT NULL,
  attempt {int} NOT NULL DEFAULT 0,
  node {text},
  beat {int} NOT NULL DEFAULT 0,
  row_key {text},
  schedule {text},
  error {text},
  created_at {int} NOT NULL,
  started_at {int},
  ended_at {int}
);
CREATE UNIQUE INDEX gh_jobs_id ON gh_jobs (id);
CREATE UNIQUE INDEX gh_jobs_schedule ON gh_jobs (schedule) WHERE schedule IS NOT NULL;
CREATE INDEX gh_jobs_due ON gh_jobs (run_at, no) WHERE state = 'waiting';
CREATE INDEX gh_jobs_running ON gh_jobs (no) WHERE state = 'running';
CREATE INDEX gh_jobs_order ON gh_jobs (row_key, no) WHERE row_key IS NOT NULL AND ended_at IS NULL;
CREATE INDEX gh_jobs_ended ON gh_jobs (state, ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX gh_jobs_state ON gh_jobs (state, id);
CREATE INDEX gh_jobs_name ON gh_jobs (name, id);
`
