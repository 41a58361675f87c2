"""What an analyzer may try that asks in rounds."""

from typing import Final

from tests.security.attack import Attack, tests_in

STUDIES: Final = (
    Attack(
        "ask one user in two rounds of a study",
        "the analyzer, which gives her tickets of both",
        "her client answers one round a study",
        tests_in("security/test_studies", "a_user_answers_one_round_though_she_is_given_tickets_for_two"),
        tests_in("security/test_studies", "a_client_without_memory_of_studies_answers_both"),
    ),
    Attack(
        "ask a round's users again in the next round of the study",
        "the analyzer, with clients that do as it says",
        "a ticket's place is of one round, and every shuffler looks",
        (
            *tests_in("security/test_studies", "tickets_of_one_round_are_of_no_use_in_the_next"),
            *tests_in(
                "unit/shuffler_process/test_studies",
                "a_part_is_taken_in_the_round_of_its_ticket_and_in_no_other",
                "a_later_round_opens_by_itself_on_terms_no_weaker_and_else_waits",
            ),
        ),
        tests_in("security/test_studies", "shufflers_that_do_not_look_at_places_take_them_all"),
    ),
    Attack(
        "narrow a round of a study to a few users",
        "the analyzer",
        "no shuffler goes on with fewer users than the minimum, for which dummies do not count",
        tests_in("security/test_studies", "a_round_of_a_window_with_fewer_users_than_the_minimum_has_no_output"),
        tests_in("security/test_studies", "shufflers_that_do_not_mind_the_minimum_shuffle_a_round_of_three"),
    ),
    Attack(
        "show two users of a study different labels or views",
        "the analyzer with one shuffler",
        "views are in the digest, and the client asks every shuffler",
        tests_in(
            "security/test_studies",
            "two_users_cannot_be_shown_different_labels",
            "views_are_part_of_the_digest_and_of_the_salt",
        ),
        tests_in("security/test_studies", "a_client_that_asks_one_shuffler_alone_is_shown_others"),
    ),
    Attack(
        "single out one person of a study by a view made for her",
        "the analyzer",
        "a view is randomised like any answer; clients and operators say which kinds they take",
        tests_in(
            "security/test_studies",
            "a_view_made_for_one_person_gains_no_more_than_epsilon_allows",
            "a_client_refuses_kinds_of_views_that_she_does_not_answer",
        ),
        tests_in("security/test_studies", "a_report_that_is_not_randomised_tells_which_person_it_is"),
    ),
)
