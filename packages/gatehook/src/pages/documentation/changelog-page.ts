/** The changelog of the versions: breaking changes from `.before()` (§8.8), deprecations. Pure. */
import type { ServiceDefinition } from '../../declare/resources/service.ts'
import { changelogOf, summarizeFields } from '../../declare/versions/changelog.ts'
import { type ContentBlock, list, type Page, text } from './content.ts'
import { deprecationWords, type VersionNotice } from './notice.ts'
import { pageNameOf } from './page-names.ts'

export const changelogPage = (
  service: ServiceDefinition,
  statuses: readonly VersionNotice[],
): Page => ({
  name: 'changelog',
  title: 'Changelog',
  group: 'Basics',
  summary: 'The breaking changes of every version with their reasons, and deprecations.',
  blocks: [
    text(
      'Additions appear without a new version. A breaking change appears in a new version only.',
    ),
  ],
  aside: [],
  sections: changelogOf(service).map(({ version, released, changes }) => ({
    id: version,
    title: version,
    blocks: [
      ...deprecationBlocks(statuses.find((status) => status.version === version)),
      text(`Released on ${released}.`),
      changes.length > 0 ? changeList(changes) : text('It has no breaking changes.'),
    ],
    aside: [],
  })),
})

function deprecationBlocks(status: VersionNotice | undefined): ContentBlock[] {
  const words = status && deprecationWords(status)
  return words === undefined ? [] : [text(words)]
}

function changeList(changes: ReturnType<typeof changelogOf>[number]['changes']): ContentBlock {
  const items = changes.map((change) => {
    const { resource, why } = change
    const page = resource.includes(' ') ? 'endpoints' : pageNameOf(resource)
    return `[${resource}](${page}): ${why} (${summarizeFields(change)})`
  })
  return list(...items)
}
