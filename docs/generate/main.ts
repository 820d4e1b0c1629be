/** `npm run docs`: writes the generated pages. With `--check`, lists those that are out of date. */
import { writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { current, pages } from './pages.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const check = process.argv.includes('--check')
for (const page of pages()) {
  if (current(page) === page.text) continue
  const name = relative(ROOT, fileURLToPath(page.file))
  if (check) {
    console.error(`${name} is out of date. Run: npm run docs`)
    process.exitCode = 1
  } else {
    writeFileSync(fileURLToPath(page.file), page.text)
    console.log(`wrote ${name}`)
  }
}
