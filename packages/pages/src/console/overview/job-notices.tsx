/** The words of notices about jobs. */
import { slowNow } from '../../clock.ts'
import { ago, count, number } from '../../format.ts'
import { href } from '../../router.ts'
import { fact, sinceOf, textFact, type Words } from './attention-facts.ts'

export const JOB_NOTICES: Readonly<Record<string, Words>> = {
  jobs_failed: {
    word: 'Failed',
    sentence: (row) => (
      <>
        <b>{count(fact(row, 'failed'), 'job')}</b> {row.subject.label} failed after all attempts,
        the last {ago(textFact(row, 'last_at') ?? row.since, slowNow().value)}.
      </>
    ),
    link: (row) => ['Open', href('/console/jobs', { state: 'failed', name: row.subject.label })],
  },
  jobs_failing: {
    word: 'Failing',
    sentence: (row) => (
      <>
        <b>{count(fact(row, 'waiting'), 'job')}</b> {row.subject.label} failed and run again:{' '}
        {textFact(row, 'error')}
      </>
    ),
    link: (row) => ['Open', href('/console/jobs', { state: 'waiting', name: row.subject.label })],
  },
  schedule_late: {
    word: 'Not run',
    sentence: (row) => (
      <>
        <b>{row.subject.label}</b> should run every {textFact(row, 'every')}; its next run{' '}
        {row.facts.is_due === true
          ? `is due since ${sinceOf(row)}: no node runs jobs of the service, or all are busy.`
          : `is at ${textFact(row, 'next_at')}: its row was changed, or a clock ran ahead.`}
      </>
    ),
    link: (row) => ['Open', href('/console/jobs', { state: 'waiting', name: row.subject.label })],
  },
  jobs_long: {
    word: 'Running',
    sentence: (row) => (
      <>
        <b>{count(fact(row, 'running'), 'job')}</b> {row.subject.label} runs for {sinceOf(row)}. An
        attempt fails after {number(fact(row, 'limit_s'))} s; see what it waits for.
      </>
    ),
    link: (row) => ['Open', href('/console/jobs', { state: 'running', name: row.subject.label })],
  },
}
