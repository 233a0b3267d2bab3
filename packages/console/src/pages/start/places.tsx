/** What each page is for. */
import { Anchor, Box, Paper, SimpleGrid, Text, Title } from '@mantine/core'
import { Link } from 'wouter'

const places = [
  { href: '/agents', label: 'Agents', what: 'System prompt, model, tools and limits; versions and rollback' },
  { href: '/playground', label: 'Playground', what: 'A conversation by the real pipeline, with steps and cost beside it' },
  { href: '/knowledge', label: 'Knowledge', what: 'Documents an agent answers from, and what it would find' },
  { href: '/keys', label: 'Keys', what: 'API keys: create, limit, rotate, revoke' },
  { href: '/conversations', label: 'Conversations', what: 'What was said, with each turn’s cost and cause of failure' },
  { href: '/money', label: 'Money', what: 'Balances, holds and ledgers; credits with a note' },
  { href: '/usage', label: 'Usage', what: 'Turns, tokens, spend, failures and latency over time' },
  { href: '/providers', label: 'Providers', what: 'Who runs the models, and a test of each' },
  { href: '/operations', label: 'Operations', what: 'Health, running turns, recoveries, and the check of all invariants' },
]

export function Places() {
  return (
    <Box component="section" aria-labelledby="places">
      <Title order={2} size="h4" mb="sm" id="places">
        Pages
      </Title>
      <SimpleGrid component="ul" cols={{ base: 1, xs: 2, lg: 3 }} spacing="sm" m={0} p={0} style={{ listStyle: 'none' }}>
        {places.map(({ href, label, what }) => (
          <Paper key={href} component="li" withBorder p="sm">
            <Anchor component={Link} href={href} fw={600}>
              {label}
            </Anchor>
            <Text size="sm" c="dimmed">
              {what}
            </Text>
          </Paper>
        ))}
      </SimpleGrid>
    </Box>
  )
}
