"""The list of everything the public interface says."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Words:
    # the frame of every page
    skip: str
    home: str
    posts: str
    notes: str
    projects: str
    journal: str
    tags: str
    search: str
    ask: str
    about: str
    menu: str
    other_language: str
    theme: str
    feed: str
    footer: str

    # lists
    posts_lede: str
    notes_lede: str
    projects_lede: str
    journal_lede: str
    tag_title: str
    tags_lede: str
    all_of: str
    nothing_here: str
    in_chinese: str
    in_english: str

    # an article
    minutes: str
    contents: str
    updated: str
    older: str
    newer: str
    related: str
    ask_about: str
    ask_about_passage: str

    # home
    welcome: str
    terminal: str
    terminal_hint: str
    go: str

    # search
    search_label: str
    search_lede: str
    search_found_one: str
    search_found: str
    search_nothing: str
    search_nothing_hint: str
    search_ask: str

    # asking
    ask_title: str
    ask_lede: str
    ask_label: str
    ask_page: str
    send: str
    your_question: str
    answer: str
    sources: str
    source: str
    read_there: str
    state_offline: str
    state_budget: str
    state_failed: str
    state_uncited: str
    state_nothing: str
    state_nothing_hint: str
    disclaimer: str
    question_too_long: str
    question_missing: str
    too_fast: str

    # about
    about_title: str
    about_persona: str
    about_journal: str
    about_journal_text: str
    about_asking: str
    about_asking_text: str
    about_follow: str
    about_follow_text: str

    # errors
    not_found: str
    not_found_hint: str
    failed: str
    failed_hint: str
    refused: str
    refused_hint: str
    back_home: str
