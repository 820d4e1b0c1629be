/** A real Chromium, as it is installed; which pages it is shown is `stage.ts`. */
import { accessSync, constants } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

const USUAL = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
]

/** Nothing but what a test asks for leaves it. */
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

/** The path of a browser: `CHROMIUM_PATH`, or where one usually is. */
function findChromium(): string {
  const named = process.env.CHROMIUM_PATH
  const path = (named ? [named] : USUAL).find(canRun)
  if (path !== undefined) return path
  throw new Error(
    named
      ? `CHROMIUM_PATH is ${named}, which is no program that can be run.`
      : 'No Chromium was found: install it (apt-get install chromium), or set CHROMIUM_PATH.',
  )
}

/** Headless, with a profile nobody has used; without a sandbox, which root could not have. */
export const launchChromium = (): Promise<Browser> =>
  chromium.launch({ executablePath: findChromium(), args: FLAGS })
