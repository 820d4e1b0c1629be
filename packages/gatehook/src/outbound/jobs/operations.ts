/** The operations of `/admin/jobs`, and the rows that they return (§13). */
import { createAdminTable } from '../../identity/access/admin-table.ts'
import { customerOfScope } from '../../identity/access/customer-reader.ts'
import { JOB_KINDS, JOB_STATES } from '../../platform/jobs/job.ts'
import { listedJobs } from '../../platform/jobs/store.ts'
import { b } from '../../protocol/fields/members.ts'
import { operation } from '../../protocol/http/operation.ts'

const jobMembers = {
  id: b.text().example('job_01jdq8w9vgk7'),
  kind: b
    .openSet(JOB_KINDS)
    .describe(
      '`job`: enqueued by code; `event`: a handler of an event; `schedule`: recurring; `mail`; ' +
        '`replay`: replays and recoveries of webhooks of a customer; `request`: a request to a ' +
        'route with steps, which the engine finishes; `fill`: completes rows that nodes of ' +
        'another declaration wrote; `index`: creates or drops an index of a table in use.',
    )
    .example('job'),
  name: b.text().example('send_receipt'),
  customer: b
    .text()
    .nullable()
    .describe('Null for a recurring job and for mail.')
    .example('cus_default'),
  mode: b.openSet(['live', 'test']).nullable().example('live'),
  state: b.openSet(JOB_STATES).example('failed'),
  attempt: b.int(0).describe('Attempts so far, from 1.').example(10),
  run_at: b.time().describe('When the job is or was due.'),
  created_at: b.time(),
  started_at: b.time().nullable().describe('The start of the last attempt.'),
  ended_at: b.time().nullable(),
  error: b
    .text()
    .nullable()
    .describe('The error of the last attempt that failed.')
    .example('Error: the mail server rejected the message'),
}

export const job = b
  .object(jobMembers)
  .named('Job')
  .columns({
    name: { title: 'job' },
    state: {
      states: [
        ['state', { waiting: ['warn', 'waiting for a retry'] }, 'attempt'],
        ['state', { failed: ['bad'], done: ['ok'], running: ['hold'], '*': ['idle'] }],
      ],
    },
    run_at: { title: 'due', as: 'time' },
    customer: { none: 'none' },
    mode: { none: 'none' },
    attempt: { title: 'attempts' },
    kind: {},
    id: {},
    error: { title: 'last error', isWide: true, none: '' },
    created_at: { as: 'time', isFact: true },
    started_at: { title: 'last start', as: 'time', isFact: true },
    ended_at: { title: 'end', as: 'time', isFact: true },
  })

const jobDetails = b
  .object({
    ...jobMembers,
    input: b.json().describe('The stored input; that of mail is empty.').example({ order_id: 7 }),
  })
  .named('JobWithInput')

const retryInput = {
  repeat_steps: b
    .bool()
    .optional()
    .describe('Whether steps run again that began over 24 hours ago and have no result.')
    .example(true),
}

export const jobTable = createAdminTable({
  row: job,
  path: '/admin/jobs',
  name: 'jobs',
  table: listedJobs(customerOfScope),
  filter: ['id', 'kind', 'name', 'customer', 'mode', 'state', 'run_at', 'created_at', 'ended_at'],
  sort: ['id', 'run_at'],
  indexes: [['id'], ['state', 'id'], ['name', 'id']],
})

export const jobOperations = {
  list: operation('GET /admin/jobs', {
    id: 'list_jobs',
    summary: 'List background jobs: of the service’s code and of the engine',
    tag: 'jobs',
    description:
      'Jobs that are done are listed for a day, failed and canceled ones for 30 days, failed ' +
      'requests for a day. Sent mail is not listed, failed mail for 7 days. ' +
      '`state=failed` lists those that had all of their attempts.',
    output: b.page(job),
  }),
  read: operation('GET /admin/jobs/:id', {
    id: 'read_job',
    summary: 'Read a job with its input',
    tag: 'jobs',
    output: jobDetails,
  }),
  retry: operation('POST /admin/jobs/:id/retry', {
    id: 'retry_job',
    summary: 'Run a failed, canceled or waiting job now, with all of its attempts',
    tag: 'jobs',
    headers: ['Idempotency-Key'],
    input: retryInput,
    body: 'optional',
    output: jobDetails,
    errors: ['invalid_state'],
  }),
  cancel: operation('POST /admin/jobs/:id/cancel', {
    id: 'cancel_job',
    summary: 'Cancel a waiting job',
    tag: 'jobs',
    description:
      'It has no further attempt. A job that runs ends by itself; a recurring job ends when the ' +
      'service does not declare it.',
    headers: ['Idempotency-Key'],
    output: jobDetails,
    errors: ['invalid_state'],
  }),
} as const
