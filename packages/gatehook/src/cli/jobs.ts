/** `gatehook jobs …`: the jobs of the service's code (§6.14). */
import { job } from '../outbound/jobs/operations.ts'
import { administration } from './api.ts'
import { countOf, countOption } from './arguments.ts'
import type { CommandFamily } from './command.ts'
import type { JsonBody } from './http-client.ts'
import { alarm, bold, dim, green } from './output.ts'

const pathOf = (id: unknown, suffix = '') =>
  `/admin/jobs/${encodeURIComponent(String(id))}${suffix}`

const stateText = (state: string): string =>
  state === 'failed' ? alarm(state) : state === 'done' ? green(state) : state

const customerText = ({ customer, mode }: JsonBody): string =>
  customer === null ? dim('-') : `${customer} ${mode}`

function describe(job: JsonBody): string {
  const { id, name, kind, state, attempt, run_at, error, input } = job
  return [
    `${bold(id)}  ${name} (${kind})  ${stateText(state)}`,
    `${customerText(job)} · attempt ${attempt} · due ${run_at}`,
    ...(error === null ? [] : [alarm(error)]),
    JSON.stringify(input, undefined, 2),
  ].join('\n')
}

export const jobs: CommandFamily = {
  name: 'jobs',
  summary: 'jobs of the service’s code: list, show, retry, cancel',
  startsWithFirst: true,
  commands: [
    administration.list({
      name: 'list',
      summary: 'jobs, the newest first',
      options: [
        ['--state <STATE>', 'waiting, running, done, failed or canceled'],
        ['--name <NAME>', 'the name of a job, or the type of an event'],
        countOption,
      ],
      examples: [['gatehook jobs --state failed', 'those that had all of their attempts']],
      parse: countOf,
      rows(api, { options }, count) {
        const query = new URLSearchParams({ sort: '-id' })
        for (const name of ['state', 'name'] as const) {
          if (options[name] !== undefined) query.set(name, String(options[name]))
        }
        return api.list(`/admin/jobs?${query}`, count)
      },
      empty: 'No jobs.',
      columns: job,
    }),
    administration.action({
      name: 'show <ID>',
      summary: 'one job with its input',
      examples: [['gatehook jobs show job_…', 'its last error, and its input']],
      act: (api, { args: [id] }) => api.request('GET', pathOf(id)),
      describe,
    }),
    administration.action({
      name: 'retry <ID>',
      summary: 'runs a failed, canceled or waiting job now, with all of its attempts',
      options: [
        ['--repeat-steps', 'also runs steps again that began over 24 hours ago without a result'],
      ],
      examples: [['gatehook jobs retry job_…', 'after the cause was removed']],
      act: (api, { args: [id], options }) =>
        api.request('POST', pathOf(id, '/retry'), {
          repeat_steps: options['repeat-steps'] === true,
        }),
      describe: ({ id }) => `${bold(id)} is due.`,
    }),
    administration.action({
      name: 'cancel <ID>',
      summary: 'ends a job that waits; it has no further attempt',
      examples: [['gatehook jobs cancel job_…', 'before it runs']],
      act: (api, { args: [id] }) => api.request('POST', pathOf(id, '/cancel')),
      describe: ({ id }) => `${bold(id)} is canceled.`,
    }),
  ],
}
