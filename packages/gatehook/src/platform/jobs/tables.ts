/** Background work: the jobs of the service's code and of the engine. */
import { byScope, bytes, int, serial, type Table, text } from '../storage/table.ts'
import { ENGINE } from './job.ts'

/** The group of a waiting job that is not blocked. */
const GROUP = "(CASE WHEN state = 'waiting' AND blocked = 0 THEN caller_group END)"

/** Names of callers are JSON (`credentialName`), or those of the engine. */
const isOfOperator = (caller: string): boolean =>
  caller.startsWith('[') && JSON.parse(caller)[1] === 'operator'

export const jobs: Table = {
  name: 'gh_jobs',
  row:
    'A job. `kind` and `lane`: `job.ts`. `state`: `waiting`, `running`, `done`, `failed`, ' +
    '`canceled`. `node` identifies the run of the process that runs it and increments ' +
    '`heartbeat`. `subject`: the person whose request enqueued it. `caller`: the caller whose ' +
    'request caused it. `caller_group`: twice the scope, plus 1 if that is a person. Jobs with ' +
    'the same `row_key` run one after the other: all but the first are `blocked` (1), and no ' +
    'search for due jobs reads them. `schedule`: the name of a recurring job in the row of its ' +
    'next run, so that there is one. `request`: the hash of the request that it answers, so ' +
    'that a repeat finds it.',
  columns: {
    no: serial,
    id: text.plain,
    kind: text.plain,
    lane: text.plain,
    name: text.plain,
    scope: int.orNull,
    subject: text.plain.orNull,
    caller_group: int.or(0),
    caller: text.plain.or(ENGINE.name),
    input: text.personal,
    state: text.plain.or('waiting'),
    run_at: int,
    attempt: int.or(0),
    node: text.plain.orNull,
    heartbeat: int.or(0),
    row_key: text.plain.orNull,
    blocked: int.or(0),
    schedule: text.plain.orNull,
    request: text.secret.orNull,
    error: text.personal.orNull,
    created_at: int,
    started_at: int.orNull,
    ended_at: int.orNull,
    purge_at: int.orNull,
  },
  key: ['no'],
  place: 'local',
  belongs: byScope,
  hiddenInExports: [
    // The warrant of an erasure, and the values that it collects.
    { columns: ['input'], isIn: ({ kind }) => kind === 'erasure' },
    {
      columns: ['caller', 'subject', 'caller_group'],
      isIn: ({ caller, subject }, person) =>
        person === undefined ? isOfOperator(String(caller)) : subject !== person,
    },
  ],
  indexes: {
    id: { on: 'id', unique: true, serves: 'a job by its id' },
    schedule: {
      on: 'schedule',
      unique: true,
      where: 'schedule IS NOT NULL',
      serves: 'one next run of a schedule',
    },
    request: {
      on: 'request',
      unique: true,
      where: 'request IS NOT NULL',
      serves: 'one job of a request',
    },
    due: {
      on: 'lane, run_at, no',
      where: "state = 'waiting' AND blocked = 0",
      serves: 'due jobs',
    },
    running: { on: 'no', where: "state = 'running'", serves: 'running jobs' },
    order: {
      on: 'row_key, no',
      where: 'row_key IS NOT NULL AND ended_at IS NULL',
      serves: 'jobs of one row in order',
    },
    ended: {
      on: 'lane, state, ended_at',
      where: 'ended_at IS NOT NULL',
      serves: 'the last failures',
    },
    purge: { on: 'purge_at', where: 'purge_at IS NOT NULL', serves: 'the purge' },
    state: { on: 'state, id', serves: 'lists by state' },
    name: { on: 'name, id', serves: 'lists by name' },
    waiting: {
      on: `lane, ${GROUP}, run_at, no`,
      where: `${GROUP} IS NOT NULL`,
      serves: 'the next customer with waiting jobs',
    },
    callers: {
      on: `lane, ${GROUP}, caller, run_at, no`,
      where: `${GROUP} IS NOT NULL`,
      serves: 'the next caller of a customer with waiting jobs',
    },
  },
  stays:
    'a day after its end, ten minutes after that of the run of a recurring job for a customer, ' +
    '30 days after a failure other than that of a request; mail until it is sent, 7 days if it ' +
    'failed',
  purgedBy: 'purge_at',
}

export const servedTimes: Table = {
  name: 'gh_served_times',
  row:
    'The latest due time of a recurring job, `name`, that a customer and mode has had its run ' +
    'for: it gets no second one.',
  columns: { name: text.plain, scope: int, due_at: int, purge_at: int },
  key: ['name', 'scope'],
  place: 'local',
  belongs: byScope,
  indexes: { purge: { on: 'purge_at', serves: 'the purge' } },
  stays: '30 days after the last due time',
  purgedBy: 'purge_at',
}

export const STEP_PURPOSE = 'step'

/** Returns the row name that a result is encrypted for. */
export const stepRow = (job: string, name: string): string => `${job} ${name}`

export const steps: Table = {
  name: 'gh_steps',
  row:
    'A step of a job. `result` is null until it has ended. The row `.attempt` names the attempt ' +
    'that holds the steps of the job, and has the request of a job that answers one; the row ' +
    '`.response` has its response.',
  columns: {
    job: text.plain,
    name: text.plain,
    scope: int.orNull,
    subject: text.plain.orNull,
    holder: text.plain.orNull,
    result: bytes.secret.orNull,
    begun_at: int,
  },
  key: ['job', 'name'],
  place: 'local',
  belongs: byScope,
  stays: 'as long as its job',
  encrypted: {
    result: {
      purpose: STEP_PURPOSE,
      rowOf: ([job, name]) => stepRow(String(job), String(name)),
    },
  },
}

export const jobsTables: readonly Table[] = [jobs, servedTimes, steps]
