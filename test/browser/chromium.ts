/** Starts the installed Chromium. */
import { accessSync, constants } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

const DEFAULT_PATHS = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
]

/** Disables requests that no test makes. */
const FLAGS = [
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

const canRun = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Returns the path of a browser: `CHROMIUM_PATH`, or the first default path that exists. */
function findChromium(): string {
  const configuredPath = process.env.CHROMIUM_PATH
  const path = (configuredPath ? [configuredPath] : DEFAULT_PATHS).find(canRun)
  if (path !== undefined) return path
  throw new Error(
    configuredPath
      ? `CHROMIUM_PATH is ${configuredPath}, which is not an executable file.`
      : 'No Chromium was found: install it (apt-get install chromium), or set CHROMIUM_PATH.',
  )
}

/** Launches a headless browser with a new profile; without a sandbox, which root cannot use. */
export const launchChromium = (): Promise<Browser> =>
  chromium.launch({ executablePath: findChromium(), args: FLAGS })
