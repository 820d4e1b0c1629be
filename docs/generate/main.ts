/** `npm run docs` writes the generated pages; with `--check` it only says which are not current. */
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { current, pages } from './pages.ts'

const check = process.argv.includes('--check')
for (const page of pages()) {
  if (current(page) === page.text) continue
  const name = page.file.pathname.slice(page.file.pathname.indexOf('/docs/') + 1)
  if (check) {
    console.error(`${name} is not current. Run: npm run docs`)
    process.exitCode = 1
  } else {
    writeFileSync(fileURLToPath(page.file), page.text)
    console.log(`wrote ${name}`)
  }
}
