/**
 * The pages of the repository that the package `gatehook` carries: guides, reference, decisions,
 * the files to deploy, changelog and security. A link to a file that is not in the package becomes
 * a link to the registry, or text.
 */
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { root } from './packages.ts'

const LIBRARY = /^packages\/(receiver|client)\//
/** The page of the package itself: its links are those of the repository. */
const OWN_README = 'packages/gatehook/README.md'

/** The folder of the package in the repository, and in the project of a reader. */
const OWN_FOLDER = 'packages/gatehook/'
const INSTALLED_FOLDER = 'node_modules/gatehook/'

/** Programs and figures that no page in the package links to. */
const LEFT_OUT = /^docs\/generate\/|\.png$|\/performance\.json$|\/check-image\.sh$/

/** Returns the paths in the repository, sorted. */
function carriedPages(): string[] {
  const folders = ['docs', 'deploy'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => posix.join(entry.parentPath.slice(root.length + 1), entry.name)),
  )
  return [...folders, 'CHANGELOG.md', 'SECURITY.md'].filter((path) => !LEFT_OUT.test(path)).sort()
}

const LINK = /(!?)\[([^\]]*)\]\(([^)\s]+)\)/g

/**
 * Rewrites the relative links of a page, and the paths of the package that a guide names.
 *
 * @param path - of the page, in the repository
 * @param isInPackage - whether the package contains a path of the repository, a file or a folder
 */
export function packedPage(
  text: string,
  path: string,
  isInPackage: (path: string) => boolean,
): string {
  const from = path === OWN_README ? '.' : posix.dirname(path)
  const linked = text.replace(LINK, (link, image: string, words: string, target: string) => {
    if (/^(?:[a-z]+:|#)/.test(target)) return link
    const [file = '', anchor] = target.split('#')
    const resolved = posix.normalize(posix.join(posix.dirname(path), file))
    if (isInPackage(resolved)) {
      const relative = posix.relative(from, resolved) || '.'
      return `${image}[${words}](${relative}${anchor === undefined ? '' : `#${anchor}`})`
    }
    const [, library] = LIBRARY.exec(resolved) ?? []
    if (library) return `[${words}](https://www.npmjs.com/package/gatehook-${library})`
    return image ? '' : words
  })
  return path.startsWith('docs/guides/') ? linked.replaceAll(OWN_FOLDER, INSTALLED_FOLDER) : linked
}

/** Writes the pages into the staged copy of the package. */
export function writePackedPages(folder: string): void {
  const pages = carriedPages()
  const paths = new Set(pages.flatMap((page) => [page, ...foldersOf(page)]))
  const isInPackage = (path: string) => paths.has(path.replace(/\/$/, ''))
  for (const path of [...pages, OWN_README]) {
    const target = join(folder, path === OWN_README ? 'README.md' : path)
    mkdirSync(dirname(target), { recursive: true })
    if (!path.endsWith('.md')) cpSync(join(root, path), target)
    else {
      const text = readFileSync(join(root, path), 'utf8')
      writeFileSync(target, packedPage(text, path, isInPackage))
    }
  }
}

/** `docs/guides/x.md` → `docs/guides`, `docs`. */
function foldersOf(path: string): string[] {
  const folder = posix.dirname(path)
  return folder === '.' ? [] : [folder, ...foldersOf(folder)]
}
