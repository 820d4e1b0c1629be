/** `gatehook jobs …`: the jobs of the service's code (§6.14). */
import { job, jobOperations } from '../outbound/jobs/operations.ts'
import { administration } from './api.ts'
import { countOf, countOption } from './arguments.ts'
import { factsText } from './columns.ts'
import type { CommandFamily } from './command.ts'
import type { JsonBody } from './http-client.ts'
import { operationCommand } from './operation-command.ts'
import { bold } from './output.ts'

const describe = (row: JsonBody): string =>
  `${factsText(job, row)}\n${JSON.stringify(row.input, undefined, 2)}`

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
    operationCommand(administration, {
      name: 'show <ID>',
      summary: 'one job with its input',
      operation: jobOperations.read,
      examples: [['gatehook jobs show job_…', 'its last error, and its input']],
      describe,
    }),
    operationCommand(administration, {
      name: 'retry <ID>',
      summary: 'runs a failed, canceled or waiting job now, with all of its attempts',
      operation: jobOperations.retry,
      examples: [['gatehook jobs retry job_…', 'after the cause was removed']],
      describe: ({ id }) => `${bold(id)} is due.`,
    }),
    operationCommand(administration, {
      name: 'cancel <ID>',
      summary: 'ends a job that waits; it has no further attempt',
      operation: jobOperations.cancel,
      examples: [['gatehook jobs cancel job_…', 'before it runs']],
      describe: ({ id }) => `${bold(id)} is canceled.`,
    }),
  ],
}
