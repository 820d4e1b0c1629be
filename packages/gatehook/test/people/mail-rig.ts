/** A service whose mail arrives in an inbox of the test. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { databases } from '../../../../test/rig/databases.ts'
import { openService, type TestApp } from '../../../../test/rig/service.ts'
import { api } from '../../service/service.ts'
import type { MailMessage, MailOptions, Service } from '../../src/gatehook.ts'
import { type Clock, wallClock } from '../../src/kernel/clock.ts'
import { openPeople, type PeopleRig } from './rig.ts'

export interface Inbox extends PeopleRig {
  readonly service: TestApp
  /** A frozen clock. */
  readonly clock: Clock & { set(nowMs: number): void }
  readonly inbox: {
    /** Sends due mail, and returns the mail that arrived since the previous call. */
    receive(): Promise<readonly MailMessage[]>
    /** The next mails fail with this error; undefined: they arrive. */
    fail(error: Error | undefined): void
  }
  /** Returns the lines of the log. */
  log(): string
}

interface MailServiceOptions {
  readonly service?: Service
  readonly options?: Partial<MailOptions>
  readonly env?: Readonly<Record<string, string>>
}

/** Defines a test on both databases. */
export function eachMailService(
  name: string,
  body: (rig: Inbox) => Promise<void>,
  { service: declared = api, options = {}, env = {} }: MailServiceOptions = {},
): void {
  for (const database of databases) {
    test(`${name} [${database.name}]`, async (t) => {
      const messages: MailMessage[] = []
      let failure: Error | undefined
      const transport = {
        async send(message: MailMessage) {
          if (failure) throw failure
          messages.push(message)
        },
      }
      const lines: string[] = []
      const log = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) })
      let currentMs = wallClock.now()
      const clock = {
        now: () => currentMs,
        elapsedMs: wallClock.elapsedMs,
        set(nowMs: number) {
          currentMs = nowMs
        },
      }
      const from = 'Example <no-reply@example.com>'
      const service = await openService(t, database.name, {
        service: declared.mail(transport, { from, ...options }),
        clock,
        env,
        log,
      })
      await body({
        ...(await openPeople(service)),
        service,
        clock,
        log: () => lines.join(''),
        inbox: {
          async receive() {
            await service.app.mail.sendDue()
            return messages.splice(0)
          },
          fail(error) {
            failure = error
          },
        },
      })
    })
  }
}

/** Returns the token of a mail without a page. */
export function tokenOf(message: MailMessage | undefined): string {
  const token = /\n([\w-]{43})\n/.exec(message?.text ?? '')?.[1]
  if (!token) assert.fail(`no token in ${message?.text}`)
  return token
}
