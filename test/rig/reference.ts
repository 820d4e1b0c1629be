/** The reference service as tests start it. */
import { pino } from 'pino'
import { api } from '../../packages/gatehook/service/service.ts'
import { openApp } from '../../packages/gatehook/src/app.ts'
import { type Config, loadConfig } from '../../packages/gatehook/src/platform/config/config.ts'

/** Returns the configuration of an app of tests. */
export const configOf = (url: string, env: Readonly<Record<string, string>> = {}): Config =>
  loadConfig({
    GATEHOOK_DATABASE_URL: url,
    GATEHOOK_PORT: '0',
    GATEHOOK_RATE_LIMIT: '0',
    GATEHOOK_SECRET_KEY: 'a secret that only tests know, long enough',
    ...env,
  })

/** Creates in a database what the first start of the reference service creates. */
export async function startReference(url: string): Promise<void> {
  const log = pino({ level: 'silent' })
  const app = await openApp({ config: configOf(url), service: api, log, seed: false })
  await app.close()
}
