"""Every attack of this project: what it wants, who makes it, what stands against it, and the tests of both halves.

`holds` are the tests in which it fails against the defence, `succeeds` those in which it works without it (or against
what the documents concede). A test is named by its file and function; all its parameters belong to it.
"""

from typing import Final

from tests.security.attack import Attack, tests_in
from tests.security.attacks_on_studies import STUDIES

PRIVACY: Final = (
    Attack(
        "read reports out of shares",
        "all r shufflers together",
        "one share is encrypted",
        (
            *tests_in(
                "security/linear/test_all_shares", "all_shufflers_together_read_no_report_while_share_1_is_encrypted"
            ),
            *tests_in(
                "security/test_reading_shares", "all_shufflers_together_read_nothing_since_one_share_is_encrypted"
            ),
            *tests_in(
                "security/test_word_shares",
                "all_shufflers_together_cannot_confirm_a_guess_since_encryption_is_randomised",
            ),
        ),
        (
            *tests_in("security/linear/test_all_shares", "they_read_every_report_of_plain_secret_sharing"),
            *tests_in(
                "security/test_reading_shares",
                "all_shufflers_together_read_everything_if_the_first_share_is_merely_encoded",
            ),
            *tests_in("security/test_word_shares", "without_randomness_they_confirm_every_guess"),
        ),
    ),
    Attack(
        "link a submission to a row of the output through the plaintext shares",
        "c shufflers, the analyzer, all other users",
        "masks that sum to zero, seeds to every next hider",
        (
            *tests_in(
                "security/linear/test_linking_exact",
                "no_coalition_of_up_to_c_learns_more_than_the_words_in_output_order",
                "what_members_make_of_their_vectors_adds_nothing",
            ),
            *tests_in(
                "security/linear/test_linking_attack", "users_who_chose_their_shares_are_not_linked_in_the_protocol"
            ),
        ),
        (
            *tests_in(
                "security/linear/test_linking_variants",
                "without_masks_the_last_round_leaks_and_the_last_two_without_a_leaving_holders_seeds",
                "a_holder_that_splits_its_accumulator_shows_every_later_holder_the_users_shares",
                "a_pass_that_does_not_rerandomise_or_does_not_mask_shows_all_to_everybody",
            ),
            *tests_in(
                "security/linear/test_linking_attack", "users_who_chose_their_shares_are_linked_in_the_broken_variants"
            ),
        ),
    ),
    Attack(
        "learn the permutation",
        "c shufflers",
        "every coalition of c misses a round",
        tests_in("security/linear/test_permutation", "the_order_is_uniform_to_every_coalition_of_up_to_c"),
        tests_in("security/linear/test_permutation", "the_order_is_known_to_every_coalition_of_c_plus_one"),
    ),
    Attack(
        "read an attempt that was lost, and compare with the next",
        "c shufflers with the key",
        "seeds of a leaving holder; nothing random is used twice",
        (
            *tests_in("security/linear/test_undelivered", "nobody_knows_the_words_of_an_attempt_before_its_delivery"),
            *tests_in("security/linear/test_lost_attempt", "a_victim_is_not_read_in_the_protocol"),
            *tests_in("security/test_masks_reused", "a_lost_attempt_reveals_nothing_of_its_permutation"),
        ),
        (
            *tests_in("security/linear/test_undelivered", "c_last_hiders_do_where_a_leaving_holder_sends_no_seeds"),
            *tests_in("security/linear/test_lost_attempt", "a_victim_is_read_where_a_leaving_holder_sends_no_seeds"),
            *tests_in(
                "security/test_masks_reused",
                "masks_used_again_under_a_new_permutation_link_the_rows_and_leave_two_places_for_the_victim",
            ),
        ),
    ),
    Attack(
        "link rows by their ciphertexts: exponents, integers and their sizes, symbols modulo p and q (Paillier)",
        "a holder with the key holder",
        "re-randomisation in every coset, widths that bury all before",
        tests_in(
            "security/test_ciphertext_linking",
            "rerandomised_ciphertexts_are_not_linked_by_small_exponents",
            "integers_that_are_buried_keep_no_order",
            "high_parts_link_no_row",
            "a_fresh_base_for_every_row_of_the_tables_leaves_no_symbol_to_follow",
            "three_holders_of_seven_link_nothing_through_the_fourth",
        ),
        tests_in(
            "security/test_ciphertext_linking",
            "without_rerandomisation_small_exponents_link_every_row_in_every_view",
            "without_rho_the_order_of_integers_follows_rows",
            "without_rho_at_the_later_holder_high_parts_link_every_row",
            "with_a_single_squared_base_symbols_link_rows_and_tell_fakes",
            "rho_of_the_same_width_at_every_pass_keeps_the_order",
        ),
    ),
    Attack(
        "link rows by their ciphertexts (DGK, Joye-Libert)",
        "a holder with the key holder",
        "re-randomisation; the order of g",
        tests_in(
            "security/test_word_linking",
            "rerandomised_ciphertexts_are_not_linked_by_exponents",
            "no_coset_is_left_to_follow_and_none_tells_fakes_from_users",
            "sums_tell_nothing_of_having_passed_2_64",
        ),
        tests_in(
            "security/test_word_linking",
            "without_rerandomisation_exponents_link_every_row_in_every_view",
            "zeros_that_stay_in_one_coset_link_rows_and_tell_fakes",
            "with_a_cofactor_left_in_g_the_key_holder_reads_the_carries",
        ),
    ),
    Attack(
        "learn from many collections how to bet on the order of two rows, by all messages, a lost attempt included",
        "c shufflers, the analyzer, all users",
        "all of the above; messages of one number, order and length",
        tests_in(
            "security/linking/test_linking_by_the_key_holder",
            "the_kept_figures_are_under_the_bar_for_every_coalition",
            "messages_are_the_same_in_number_order_and_length_whatever_the_permutation",
        ),
        tests_in("security/linking/test_linking_by_the_key_holder", "each_planted_weakness_is_seen"),
        ("tests/security/results/linking-3.json", "tests/security/results/linking-5.json"),
    ),
    Attack(
        "mark ciphertexts and find the marks again",
        "users, a holder",
        "Joye-Libert: the Jacobi symbol at every hand-over; Paillier: the widths",
        (
            *tests_in(
                "security/test_word_marks",
                "a_holder_that_marks_by_jacobi_symbols_is_caught_at_the_hand_over",
                "no_row_of_symbol_minus_one_is_let_in_by_anybody",
                "a_mark_within_joye_liberts_zeros_is_gone_after_one_honest_pass",
                "the_last_holder_that_marks_is_caught_at_delivery",
            ),
            *tests_in("security/test_ciphertext_linking", "marks_within_the_widths_of_earlier_passes_are_buried"),
        ),
        (
            *tests_in(
                "security/test_word_marks",
                "where_only_the_intake_looks_the_key_holder_reads_the_mark_behind_an_honest_pass",
                "a_deviating_holder_can_mark_dgk_rows_by_cofactor_elements_as_limitations_md_says",
            ),
            *tests_in("security/test_ciphertext_linking", "rho_of_the_same_width_shows_the_marks"),
        ),
    ),
    Attack(
        "tell fakes from reports",
        "the analyzer",
        "every bit pattern is a report, preimages are uniform",
        (
            *tests_in(
                "security/test_fakes",
                "where_a_number_stands_in_its_cell_does_not_tell_reports_from_fakes",
                "fields_and_padding_do_not_tell_unary_reports_from_fakes",
                "the_number_of_set_positions_tells_what_the_mechanism_concedes_and_no_more",
            ),
            *tests_in(
                "security/test_ciphertext_linking",
                "sizes_do_not_tell_fakes_from_users_at_either_hop",
                "symbols_do_not_tell_fakes_from_users",
            ),
        ),
        tests_in(
            "security/test_fakes",
            "always_the_first_preimage_tells_reports_from_fakes",
            "canonical_fields_and_zero_padding_tell_unary_reports_from_fakes",
            "plain_bits_with_fair_coin_fakes_tell_almost_every_report",
        ),
    ),
    Attack(
        "read values, dummies or fakes off lengths, order and work",
        "an observer of the network",
        "one length and one amount of work for all",
        tests_in(
            "security/test_network_observer",
            "a_whole_collection_is_the_same_on_the_wire_whatever_its_users_values",
            "a_dummys_parts_are_as_long_and_come_in_the_same_order_as_a_users",
            "every_value_takes_the_same_powers_and_the_same_coins",
        ),
        tests_in(
            "security/test_network_observer",
            "work_that_depends_on_the_value_would_be_seen",
            "a_client_whose_encoding_is_shorter_for_small_numbers_is_read_off_its_lengths",
        ),
    ),
    Attack(
        "ask again, to average",
        "the analyzer",
        "the client's memory and budget",
        tests_in(
            "security/test_asking_again",
            "with_her_memory_the_analyzer_gets_what_her_budget_pays_for_and_in_one_collection_one_report",
        ),
        tests_in("security/test_asking_again", "without_a_memory_repeated_answers_average_to_her_value"),
    ),
    Attack(
        "intersect two outputs of the same users",
        "the analyzer",
        "a report is never sent into a second collection",
        tests_in(
            "security/test_asking_again",
            "fresh_reports_in_every_collection_have_nothing_in_common",
            "the_client_sends_a_fresh_report_into_another_epoch_and_none_into_another_collection_of_the_same",
        ),
        tests_in(
            "security/test_asking_again",
            "clients_that_send_a_remembered_report_again_lose_the_fakes_and_show_who_was_missing",
        ),
    ),
    Attack(
        "compare collections whose users differ by one",
        "the analyzer, with all other users",
        "shufflers take few of a question a day; her budget",
        (
            *tests_in(
                "security/test_asking_again",
                "as_many_collections_as_shufflers_take_in_a_day_tell_little_of_her_and_many_tell_her_value",
            ),
            *tests_in(
                "integration/test_shufflers",
                "a_fifth_collection_of_a_question_within_a_day_is_refused_whatever_its_epoch_and_blanks",
            ),
        ),
        tests_in(
            "security/test_asking_again", "without_the_policy_a_thousand_collections_that_differ_by_her_tell_her_value"
        ),
    ),
    Attack(
        "single out one user by a document, or shufflers, of her own",
        "the analyzer",
        "the client asks every shuffler, and pins them",
        tests_in(
            "security/test_singling_out",
            "a_document_for_her_alone_is_not_answered",
            "shufflers_that_nobody_knows_are_not_answered",
        ),
        tests_in(
            "security/test_singling_out",
            "a_client_that_asks_one_shuffler_only_answers_a_document_for_her_alone",
            "a_client_that_pins_nobody_hands_its_report_to_an_analyzer_that_is_every_shuffler",
        ),
    ),
    Attack(
        "tell neighbouring data sets apart better than claimed",
        "the analyzer, with and without all other users",
        "exact accounting, thresholds rounded to the private side",
        tests_in(
            "security/test_audit",
            "no_report_tells_more_than_its_local_epsilon_and_it_is_reached",
            "no_collection_tells_more_than_exact_accounting_claims",
        ),
        tests_in(
            "security/test_audit",
            "a_misreported_local_epsilon_is_found_out",
            "a_collection_whose_users_tell_more_than_they_are_accounted_for_is_found_out",
        ),
    ),
)

INTEGRITY: Final = (
    Attack(
        "promote a value by skewed fakes",
        "up to r − 1 shufflers",
        "a fake is the sum of one share of each shuffler",
        tests_in("security/test_fakes", "all_shufflers_but_one_cannot_make_the_fakes_tell_a_value"),
        tests_in(
            "security/test_fakes", "in_a_sequential_shuffle_skewed_fakes_shift_the_estimate_by_as_much_as_predicted"
        ),
    ),
    Attack(
        "promote values beyond one report each",
        "a fraction of the users",
        "one report a ticket; every ciphertext is one word",
        tests_in(
            "security/test_targeted_promotion",
            "the_gain_is_what_theory_says_and_no_more_than_one_report_each_allows",
            "a_huge_plaintext_is_one_report_like_any_other",
            "a_second_report_under_one_ticket_is_refused",
        ),
        tests_in(
            "security/test_targeted_promotion", "the_gain_is_what_theory_says_and_no_more_than_one_report_each_allows"
        ),
    ),
    Attack(
        "replace or drop rows",
        "a shuffler",
        "dummies, and the inspection",
        tests_in(
            "security/test_inspection",
            "a_hider_that_replaces_or_drops_rows_is_named_alone",
            "replacing_few_rows_is_named_as_often_as_it_touches_a_dummy",
        ),
        tests_in("security/test_sequential", "without_the_dummies_replaced_rows_would_be_published"),
    ),
    Attack(
        "hand ciphertexts on without re-randomising them",
        "a holder",
        "the inspection",
        tests_in("security/test_inspection", "a_holder_that_does_not_rerandomise_is_named_though_every_dummy_came_out"),
        tests_in(
            "security/test_inspection", "without_the_inspection_nobody_notices_a_holder_that_does_not_rerandomise"
        ),
    ),
    Attack(
        "lie in the inspection, to open a user's row or to accuse an honest party",
        "a shuffler",
        "a place counts if all hiders name it; equations name their owner",
        tests_in(
            "security/test_inspection",
            "a_hider_that_points_at_other_rows_makes_nobody_open_them",
            "who_shows_what_was_not_is_among_the_named_and_no_honest_party_is_named_alone",
        ),
    ),
    Attack(
        "have a user's row opened by naming it as a dummy",
        "the analyzer",
        "commitments, and all parts of what is revealed",
        tests_in(
            "security/test_dummies_as_weapon",
            "a_user_named_as_a_dummy_is_not_opened_and_without_the_proof_her_word_is_read",
            "a_dummy_that_the_document_does_not_commit_to_or_in_another_place_or_left_out_is_refused",
            "a_dummy_without_one_of_its_parts_or_with_another_s_is_refused",
            "what_the_analyzer_did_not_sign_is_refused",
        ),
        tests_in(
            "security/test_dummies_as_weapon",
            "a_user_named_as_a_dummy_is_not_opened_and_without_the_proof_her_word_is_read",
        ),
    ),
    Attack(
        "have honest shufflers accused, by showing the dummies otherwise to some of them",
        "the analyzer",
        "one choice, one order, and a signature over what is shown, which every word of the inspection carries",
        tests_in(
            "security/test_framing",
            "whatever_the_analyzer_shows_to_whom_no_honest_shuffler_is_accused_and_the_analyzer_is",
            "what_differs_in_a_dummy_that_does_not_count_is_held_against_the_analyzer_alone",
            "who_is_shown_what_is_not_signed_has_no_proof_and_is_not_accused_for_want_of_it",
            "who_names_a_reveal_that_the_analyzer_did_not_sign_is_named_itself",
        ),
        tests_in("security/test_framing", "where_shufflers_believe_it_an_honest_one_is_accused_alone"),
    ),
    Attack(
        "leave the zeros out, and say afterwards that a restart has taken everything",
        "a holder",
        "what an inspection needs is kept; rows that were not seen are published at the analyst's word alone",
        tests_in(
            "security/test_inspection",
            "a_holder_that_does_not_rerandomise_and_says_that_it_was_started_anew_publishes_nothing",
            "who_says_nothing_of_the_rows_places_is_one_whose_rows_were_not_seen",
        ),
        tests_in(
            "security/test_inspection",
            "a_holder_that_does_not_rerandomise_and_says_that_it_was_started_anew_publishes_nothing",
        ),
    ),
    Attack(
        "fall out of step: another seed, two words, two vectors for one step",
        "a shuffler, a crash",
        "confirmations, transcripts, dummies",
        tests_in(
            "security/test_desynchronise",
            "a_hider_with_another_seed_is_named_with_its_step_before_anything_is_output",
            "two_words_for_one_step_end_the_attempt_and_name_their_sender",
            "two_vectors_for_one_step_are_refused_and_name_their_sender",
            "a_wrong_remainder_and_a_holder_with_another_permutation_are_caught_by_the_dummies",
        ),
        tests_in(
            "security/test_desynchronise",
            "without_confirmation_and_dummies_a_handful_of_reports_survives_in_a_flat_histogram_and_no_error",
        ),
    ),
    Attack(
        "one splitting to some shufflers, another to the rest",
        "users",
        "the freeze compares rows, which commit to the submission digest",
        tests_in(
            "security/test_splittings",
            "mixed_splittings_are_not_counted_and_everybody_elses_reports_come_out_exactly",
            "a_shuffler_refuses_another_submission_under_a_used_ticket_and_acknowledges_the_identical_repeat",
        ),
        tests_in("security/test_splittings", "freezing_by_id_alone_destroys_the_reports_of_all_mixers_unnoticed"),
    ),
    Attack(
        "vote with tickets that reach it first",
        "one shuffler",
        "the ticket names the user's key, which signs her submission",
        tests_in("security/test_stolen_tickets", "a_shuffler_that_saw_a_ticket_first_cannot_vote_with_it"),
        tests_in("security/test_stolen_tickets", "without_the_users_signature_every_ticket_is_the_thiefs"),
    ),
    Attack(
        "have honest shufflers accuse one another by showing them two lists",
        "one shuffler",
        "all compare all signed announcements before any list is shown",
        tests_in(
            "unit/collection/test_freeze_model", "one_list_is_frozen_or_none_and_only_the_deviating_shuffler_is_named"
        ),
        tests_in("unit/collection/test_freeze_model", "the_check_sees_announcements_that_are_not_compared"),
    ),
    Attack(
        "leave chosen users out of the list after acknowledging their reports",
        "a shuffler",
        "receipts and lists are signed, and a user may ask whether she was counted",
        tests_in(
            "unit/collection/test_membership",
            "a_shuffler_that_leaves_out_what_it_acknowledged_is_convicted_alone",
            "it_cannot_show_the_row_in_its_list_nor_keep_from_being_named_by_hiding_it",
        ),
    ),
    Attack(
        "spoil other users' reports by an oversized plaintext",
        "a user",
        "the check of packed decryption",
        tests_in("security/test_packed_decryption", "an_oversized_plaintext_changes_nobody_elses_word"),
        tests_in(
            "security/test_packed_decryption",
            "without_the_check_it_does",
            "coefficients_that_can_be_foreseen_let_errors_cancel",
        ),
    ),
    Attack(
        "tell the dummies by when they come, and spare them",
        "a shuffler",
        "they are sent among the users",
        tests_in(
            "unit/collection/test_dummies",
            "however_users_come_dummies_are_evenly_among_them",
            "if_fewer_come_than_were_expected_fewer_dummies_are_among_them",
            "with_twice_as_many_it_is_full_and_is_closed_with_dummies_among_all",
            "a_shuffler_that_invents_reports_does_not_call_the_dummies_in",
        ),
        tests_in("unit/collection/test_dummies", "an_analyzer_that_sends_them_first_is_seen_by_the_same_test"),
    ),
)

SEQUENTIAL: Final = (
    Attack(
        "link an onion to a row (sequential shuffle)",
        "the analyzer with up to r − 1 shufflers",
        "one honest permutation; copies are dropped",
        tests_in(
            "security/test_sequential",
            "one_honest_shuffler_hides_who_sent_what",
            "a_copied_onion_does_not_show_its_report",
            "a_second_attempt_does_not_tell_fakes_from_reports",
        ),
        tests_in(
            "security/test_sequential",
            "a_shuffler_that_does_not_permute_hides_nobody",
            "without_looking_for_copies_a_copied_onion_shows_its_report",
            "fakes_that_are_wrapped_anew_are_told_by_a_second_attempt",
        ),
    ),
)

AVAILABILITY: Final = (
    Attack(
        "end a collection, or hold it up, by connections and streams that say nothing",
        "anybody without a ticket or a certificate",
        "limits for each address, time limits, descriptors kept for disk and peers",
        tests_in("outsiders/test_outsiders", "a_collection_completes_under_an_attack"),
    ),
    Attack(
        "crash a party, or make it hang or grow, by bytes that are nearly right",
        "anybody",
        "readers that refuse what they do not document, in bounded time and memory",
        (
            *tests_in("fuzz/test_decoders", "inputs_that_are_nearly_right_are_read_or_refused"),
            *tests_in("fuzz/test_rpcs", "parties_refuse_what_is_nearly_right_and_the_result_is_the_users"),
        ),
        tests_in("fuzz/test_decoders", "what_a_reader_does_not_document_is_found", "a_second_encoding_is_found"),
    ),
)

ATTACKS: Final = (*PRIVACY, *STUDIES, *INTEGRITY, *SEQUENTIAL, *AVAILABILITY)
